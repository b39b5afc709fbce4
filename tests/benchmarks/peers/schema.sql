-- The tables of the peers, in SQL that SQLite and PostgreSQL both accept, with the pets and keys of the service.
CREATE TABLE pet (
    id     varchar(36) NOT NULL PRIMARY KEY,
    name   varchar(255) NOT NULL,
    tag    varchar(255) NULL,
    status varchar(16) NOT NULL DEFAULT 'available' CHECK (status IN ('available', 'pending', 'sold'))
);
CREATE TABLE api_key (
    id         integer NOT NULL PRIMARY KEY,
    digest     varchar(64) NOT NULL UNIQUE,
    revoked_at timestamptz NULL
);
INSERT INTO pet SELECT CAST(id AS text), name, tag, status FROM pets_pet;
INSERT INTO api_key SELECT id, digest, revoked_at FROM apikeys_apikey;
