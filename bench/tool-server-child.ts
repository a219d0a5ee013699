/** @module Child process: an MCP server on stdio that answers every request at once. */
import { createInterface } from 'node:readline'

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id } = JSON.parse(line) as { readonly id?: number }
  if (id === undefined) return
  process.stdout.write(
    `${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } })}\n`,
  )
})
