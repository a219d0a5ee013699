/**
 * @module Child of `contention.test.ts`: a process with a connection of its own. Arguments: URL and token. Each line on stdin is
 * `{path, body}`; it posts at once and prints `{status, body}` on one line.
 */
import { createInterface } from 'node:readline'
import { ApiClient } from '../support/api-client.ts'

const [url = '', token = ''] = process.argv.slice(2)
const client = new ApiClient({ url, token, connections: 1 })
// The first request of a round must not pay for the connection.
await client.get('/healthz')
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  const { path, body } = JSON.parse(line)
  const answer = await client.post(path, body)
  process.stdout.write(`${JSON.stringify({ status: answer.status, body: answer.body })}\n`)
}
await client.close()
