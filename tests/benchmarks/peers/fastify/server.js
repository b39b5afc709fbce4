'use strict'
const cluster = require('node:cluster')
const [port, workers] = process.argv.slice(2).map(Number)

if (cluster.isPrimary) {
  for (let i = 0; i < workers; i++) cluster.fork()
  process.on('SIGTERM', () => {
    for (const w of Object.values(cluster.workers)) w.kill('SIGTERM')
    process.exit(0)
  })
} else {
  const { createHash } = require('node:crypto')
  const { v7: uuid } = require('uuid')
  const fastify = require('fastify')({ logger: false })
  const store = require('./store')

  const Pet = {
    type: 'object',
    properties: { id: { type: 'string' }, name: { type: 'string' }, tag: { type: 'string' } }
  }
  const out = (row) => row.tag === null ? { id: row.id, name: row.name } : row
  const fail = (status, code, message) => Object.assign(new Error(message), { statusCode: status, code })

  fastify.setErrorHandler((err, request, reply) => {
    const status = err.validation ? 400 : err.statusCode || 500
    const code = status === 400 ? 'bad_request' : status === 500 ? 'internal_error' : err.code
    reply.code(status).send({ error: { code, message: err.message } })
  })
  fastify.setNotFoundHandler((request, reply) => {
    reply.code(404).send({ error: { code: 'not_found', message: 'There is no such resource.' } })
  })

  fastify.get('/v1/health', {
    schema: { response: { 200: { type: 'object', properties: { status: { type: 'string' } } } } }
  }, async () => ({ status: 'ok' }))

  fastify.register(async (api) => {
    api.addHook('onRequest', async (request) => {
      const key = request.headers['x-api-key']
      if (!key || !await store.key(createHash('sha256').update(key).digest('hex'))) {
        throw fail(401, 'unauthorized', 'A valid API key is required.')
      }
    })
    api.get('/pets', {
      schema: {
        querystring: {
          type: 'object',
          properties: { limit: { type: 'integer', minimum: 0, default: 100 } }
        },
        response: { 200: { type: 'array', items: Pet } }
      }
    }, async (request) => (await store.list(Math.min(request.query.limit, 1000))).map(out))
    api.post('/pets', {
      schema: {
        body: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string', minLength: 1 }, tag: { type: 'string' } }
        },
        response: { 201: Pet }
      }
    }, async (request, reply) => {
      const { name, tag } = request.body
      const id = uuid()
      await store.insert(id, name, tag ?? null)
      reply.code(201)
      return { id, name, tag }
    })
    api.get('/pets/:petId', { schema: { response: { 200: Pet } } }, async (request) => {
      const row = await store.one(request.params.petId)
      if (!row) throw fail(404, 'not_found', 'There is no such pet.')
      return out(row)
    })
    api.get('/store/inventory', {
      schema: {
        response: {
          200: {
            type: 'object',
            properties: {
              available: { type: 'integer' }, pending: { type: 'integer' }, sold: { type: 'integer' }
            }
          }
        }
      }
    }, async () => {
      const counts = { available: 0, pending: 0, sold: 0 }
      for (const row of await store.counts()) counts[row.status] = row.n
      return counts
    })
  }, { prefix: '/v1' })

  fastify.listen({ host: '127.0.0.1', port: port })
}
