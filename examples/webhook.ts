// Somebody else's program is told that a payment waits: it checks the signature, the time and the id of what it gets, and believes nothing else.
import { execFileSync, spawn } from 'node:child_process'
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connect, RunWaiting } from 'countersign/agent'

const TOLERANCE_SECONDS = 5 * 60
const secret = `whsec_${randomBytes(32).toString('base64')}`
const seen = new Set<string>()

/** As Standard Webhooks has it; any of its libraries does the same. */
function isGenuine(headers: IncomingHttpHeaders, body: string): boolean {
  const [id, time, signatures] = [headers['webhook-id'], headers['webhook-timestamp'], headers['webhook-signature']]
  if (Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_SECONDS) return false
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`)
  return `${signatures}`
    .split(' ')
    .some((each) => each.length === expected.length && timingSafeEqual(Buffer.from(each), expected))
}

/** Takes what is genuine, once: it may come again, under the same id. */
const receiver = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk) => {
    body += chunk
  })
  request.on('end', () => {
    const genuine = isGenuine(request.headers, body)
    response.writeHead(genuine ? 204 : 401).end()
    const id = `${request.headers['webhook-id']}`
    if (!genuine || seen.has(id)) return
    seen.add(id)
    receiver.emit('told', JSON.parse(body))
  })
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')

const folder = mkdtempSync(join(tmpdir(), 'countersign-example-'))
const [data, secrets] = [join(folder, 'data'), join(folder, 'webhook-secrets')]
writeFileSync(secrets, `${secret}\n`, { mode: 0o600 })

const countersign = fileURLToPath(new URL('../programs/countersign.js', import.meta.url))
const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/approvals`
const settings = ['--data', data, '--port', '0', '--webhook', hook, '--webhook-secrets', secrets]
const server = spawn(process.execPath, [countersign, 'serve', ...settings], { stdio: ['ignore', 'pipe', 'inherit'] })
let url = ''
for await (const line of createInterface({ input: server.stdout })) {
  url = (JSON.parse(line) as { url?: string }).url ?? ''
  if (url !== '') break
}

const token = execFileSync(process.execPath, [countersign, 'token', '--data', data, '--scope', 'runs:write runs:read'])
const cs = await connect({ url, token: token.toString().trim() })
const pay = cs.tool(async ({ cents }: { cents: number }) => `paid ${cents}`, { name: 'pay', approve: true })
const told = once(receiver, 'told')
const run = cs.run({ id: 'invoice-7', name: 'invoice', whenWaiting: 'leave' }, () => pay({ cents: 250_000 }))
console.log(await run.catch((error: unknown) => (error instanceof RunWaiting ? 'the payment waits' : error)))

const [{ type, data: about }] = await told
console.log(`told: ${type}, ${about.tool} of run ${about.run}`)
console.log(`decide at: ${about.link.replace(about.approvalId, '...')}`)
console.log(`arguments: ${'args' in about ? 'passed on' : 'not told, only their digest'}`)

server.kill()
await once(server, 'exit')
receiver.close()
rmSync(folder, { recursive: true })
