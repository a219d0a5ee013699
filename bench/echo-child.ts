/** @module Child process: the append route without a ledger. Hono, JSON and the same schema; the body is sent back. */
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { PostEnvelope } from '../schemas/requests.ts'

const HTTP_CREATED = 201
const HTTP_BAD_REQUEST = 400

const app = new Hono()
app.post('/v1/runs/:run/envelopes', async (c) => {
  const body = PostEnvelope.safeParse(await c.req.json())
  return body.success ? c.json(body.data, HTTP_CREATED) : c.json({ error: body.error.message }, HTTP_BAD_REQUEST)
})

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }: AddressInfo) => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => {
  server.close()
  if ('closeAllConnections' in server) server.closeAllConnections()
})
