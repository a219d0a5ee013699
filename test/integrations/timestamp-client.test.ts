import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { httpAuthority, timestampAuthority } from '../../src/integrations/timestamp-client.ts'
import { type Flags, readSettings } from '../../src/settings/config.ts'
import { stampingAuthority } from '../support/stamping-authority.ts'
import { within } from '../support/within.ts'

const test = suite('the client of a time-stamping authority')

type Answering = (request: Buffer, response: ServerResponse) => void | Promise<void>

async function authorityAt(answering: Answering) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => void answering(Buffer.concat(chunks), response))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsa?key=secret`,
    [Symbol.asyncDispose]: close,
  }
}

const TEXT = 'ledger.example/acme\n40\nroot\n'
const open = new AbortController().signal
const LOCAL = { allow: ['127.0.0.0/8'] }

test('a time-stamp is requested as RFC 3161 has it over HTTP, and comes with its time, policy and serial (LOG-32)', async () => {
  const tsa = await stampingAuthority()
  await using at = await authorityAt(async (request, response) => void response.end(await tsa.answer(request)))
  const authority = httpAuthority(at.url, LOCAL)
  assert.is(authority.name, new URL(at.url).host)
  const stamped = await within(authority.stamp(TEXT, open), 'the time-stamp')
  assert.ok(stamped.ok)
  assert.equal([stamped.policy, stamped.serial], ['1.2.3.4.1', '2a'])
  assert.ok(stamped.reply.length > 500 && /^\d{4}-.*Z$/.test(stamped.time))
})

test('an authority that is away, huge, silent, broken or somewhere else gives no time-stamp, and its faults tell no secret (A240, A242)', async () => {
  const tsa = await stampingAuthority()
  const refused: readonly (readonly [RegExp, Answering, timeoutMs?: number])[] = [
    [/^unreachable it answers 500/, (_, response) => void response.writeHead(500).end()],
    [/^unreachable it redirects \(307\)/, (_, response) => void response.writeHead(307, { location: '/' }).end()],
    [/^unreachable/, (_, response) => void response.destroy()],
    [/^unreachable it does not answer within 300 ms/, () => undefined, 300],
    [/^too-large .*16384/, (_, response) => void response.end(Buffer.alloc(1_000_000))],
    [/^malformed/, (_, response) => void response.end('<html>')],
    [/^rejected/, async (request, response) => void response.end(await tsa.answer(request, { status: 2 }))],
    [/^wrong-nonce/, async (request, response) => void response.end(await tsa.answer(request, { nonce: null }))],
    [
      /^wrong-signature/,
      async (request, response) => void response.end(await tsa.answer(request, { brokenSignature: true })),
    ],
  ]
  for (const [pattern, answering, timeoutMs = 30_000] of refused) {
    await using at = await authorityAt(answering)
    const stamped = await within(httpAuthority(at.url, { ...LOCAL, timeoutMs }).stamp(TEXT, open), `${pattern}`)
    const said = stamped.ok ? 'ok' : `${stamped.code} ${stamped.message}`
    assert.match(said, pattern)
    assert.not.match(said, /secret/)
  }
  const inside = httpAuthority('https://tsa.example/', { allow: ['tsa.example'], lookup: async () => ['192.168.1.9'] })
  const stamped = await inside.stamp(TEXT, open)
  assert.match(stamped.ok ? '' : stamped.message, /tsa.example resolves to 192.168.1.9, which is not public/)
})

test('the address of an authority is checked before anything is opened (A242)', () => {
  const fault = (flags: Flags): string => {
    try {
      const { timestamp } = readSettings(flags, {})
      if (timestamp !== undefined) timestampAuthority(timestamp)
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const url = 'https://tsa.example/'
  assert.is(fault({ 'timestamp-url': url }), '')
  assert.is(fault({ 'timestamp-url': 'http://127.0.0.1:318/' }), '')
  assert.is(fault({ 'timestamp-url': 'https://10.0.0.1/', 'timestamp-allow': '10.0.0.0/8' }), '')
  assert.match(fault({ 'timestamp-url': 'http://tsa.example/' }), /TIMESTAMP_URL: .*takes https/)
  assert.match(fault({ 'timestamp-url': 'https://10.0.0.1/' }), /name it in --timestamp-allow/)
  assert.match(fault({ 'timestamp-url': url, 'timestamp-allow': '10.0.0.0/99' }), /--timestamp-allow: .*no CIDR block/)
  assert.match(fault({ 'timestamp-url': url, 'timestamp-minutes': '0' }), /takes a whole number from 1/)
})

test.run()
