/** @module Child: an MCP server over HTTP that writes down each call that reaches it before it does anything, and answers some of them late. */
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { JsonObject } from '../../schemas/json.ts'

const [, , port = '0', file = ''] = process.argv

createServer(async (request, response) => {
  let text = ''
  for await (const part of request) text += String(part)
  const { id = null, params = {} } = JSON.parse(text) as JsonObject
  const { name, arguments: args = {} } = params as { name?: string; arguments?: JsonObject }
  const n = Number(args.n ?? -1)
  if (name === 'charge') appendFileSync(file, `${JSON.stringify({ n })}\n`)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': begun\n\n')
  const result = { content: [{ type: 'text', text: `done ${n}` }] }
  setTimeout(() => response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`), (n % 5) * 15)
}).listen(Number(port), '127.0.0.1')
