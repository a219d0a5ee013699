/** @module An MCP server that writes down each call before it answers, so that a test can count what reached it. Argument: the file to write to. */
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

interface Request {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly name?: string; readonly arguments?: { readonly n?: number } }
}

const SLOWEST_MS = 40
const [, , file = ''] = process.argv
const note = (entry: object): void => appendFileSync(file, `${JSON.stringify(entry)}\n`)
const send = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

note({ pid: process.pid })
const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Request
  if (id === undefined) return
  if (method === 'initialize') {
    send({
      id,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'counting', version: '1' },
      },
    })
    return
  }
  if (method !== 'tools/call') return send({ id, result: {} })
  const n = params?.arguments?.n ?? -1
  if (params?.name === 'charge') note({ n })
  setTimeout(() => send({ id, result: { content: [{ type: 'text', text: `done ${n}` }] } }), Math.random() * SLOWEST_MS)
})
// Like many servers of the field it goes on where its input ends: the proxy has to end it.
setInterval(() => undefined, 1_000)
