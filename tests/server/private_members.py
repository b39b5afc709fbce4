"""Members of libraries that the service relies on."""

# By the module, and by the class if the members belong to one.
MEMBERS = {
    "gunicorn_h1c:H1CProtocol": ["asgi_headers"],
    "gunicorn.workers.base:Worker": [
        *("alive", "app", "cfg", "log", "max_requests", "notify", "nr", "ppid", "run", "sockets", "tmp"),
        "wsgi",
    ],
    "gunicorn.arbiter:Arbiter": [
        *("cfg", "handle_int", "handle_quit", "handle_term", "handle_usr2", "log", "signal"),
    ],
    "gunicorn.app.base:Application": ["load_config_from_module_name_or_filename", "reload"],
    "gunicorn.config:Config": ["get_cmd_args_from_env", "is_ssl", "parser"],
    "gunicorn.sock": ["ssl_context"],
    "_ssl": ["_test_decode_cert"],
    "json": ["detect_encoding"],
    "prometheus_client:Histogram": ["_buckets", "_sum"],
    "psycopg:Connection": ["wait"],
    "openpyxl.worksheet._read_only:ReadOnlyWorksheet": ["_worksheet_path"],
    "django.http:HttpRequest": ["_set_content_type_params", "parse_file_upload"],
    "django.contrib.auth.tokens:PasswordResetTokenGenerator": ["_make_hash_value"],
    "django.contrib.auth.views": ["INTERNAL_RESET_SESSION_TOKEN"],
    "django.db.backends.sqlite3.schema:DatabaseSchemaEditor": ["_remake_table"],
    "django.db.backends.base.schema:BaseDatabaseSchemaEditor": [
        *("atomic_migration", "deferred_sql", "sql_create_column", "sql_delete_index"),
    ],
    "django.db.backends.base.base:BaseDatabaseWrapper": [
        *("close_if_unusable_or_obsolete", "commit", "connection", "ensure_connection", "get_connection_params"),
        *("get_new_connection", "in_atomic_block", "ops", "settings_dict", "wrap_database_errors"),
    ],
}
