'use strict'
const url = process.env.DATABASE_URL

function sqlite () {
  const Database = require('better-sqlite3')
  const db = new Database(url.replace('sqlite:///', ''), { timeout: 5000 })
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  const key = db.prepare('SELECT id FROM api_key WHERE digest = ? AND revoked_at IS NULL')
  const one = db.prepare('SELECT id, name, tag FROM pet WHERE id = ?')
  const list = db.prepare('SELECT id, name, tag FROM pet ORDER BY id LIMIT ?')
  const insert = db.prepare("INSERT INTO pet (id, name, tag, status) VALUES (?, ?, ?, 'available')")
  const counts = db.prepare('SELECT status, count(*) AS n FROM pet GROUP BY status')
  return {
    key: (digest) => key.get(digest),
    one: (id) => one.get(id),
    list: (limit) => list.all(limit),
    insert: (id, name, tag) => insert.run(id, name, tag),
    counts: () => counts.all()
  }
}

function postgres () {
  const { Pool } = require('pg')
  const pool = new Pool({ connectionString: url, max: 10 })
  const query = async (name, text, values) => (await pool.query({ name, text, values })).rows
  return {
    key: async (digest) =>
      (await query('key', 'SELECT id FROM api_key WHERE digest = $1 AND revoked_at IS NULL', [digest]))[0],
    one: async (id) => (await query('one', 'SELECT id, name, tag FROM pet WHERE id = $1', [id]))[0],
    list: (limit) => query('list', 'SELECT id, name, tag FROM pet ORDER BY id LIMIT $1', [limit]),
    insert: (id, name, tag) => query('insert',
      "INSERT INTO pet (id, name, tag, status) VALUES ($1, $2, $3, 'available')", [id, name, tag]),
    counts: () => query('counts', 'SELECT status, count(*)::int AS n FROM pet GROUP BY status', [])
  }
}

module.exports = url.startsWith('sqlite:') ? sqlite() : postgres()
