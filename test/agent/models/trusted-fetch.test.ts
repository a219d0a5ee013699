import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openAiCompatible } from '../../../src/agent/models/open-ai-compatible.ts'
import { sseData } from '../../../src/agent/models/sse-data.ts'
import { trackOpenAI } from '../../../src/agent/models/track-openai.ts'
import { trustedFetch } from '../../../src/agent/models/trusted-fetch.ts'
import { codeOf, HOMES, rejection } from '../homes.ts'
import { collected } from './fake-providers.ts'

const trusted = suite('endpoints that may be dialled')

/** A server on every address; `seen` has the address and path of each request. */
async function listening(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.socket.localAddress?.replace('::ffff:', '')} ${request.url}`)
    answer(request, response)
  })
  const listens = (host: string): Promise<boolean> =>
    new Promise((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(0, host, () => resolve(true))
    })
  // A machine may have no IPv6.
  const hasV6 = await listens('::')
  if (!hasV6) await listens('0.0.0.0')
  const { port } = server.address() as AddressInfo
  return {
    port,
    hasV6,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const hello = (_: IncomingMessage, response: ServerResponse): void => void response.end('hello')

/** Hosts as attackers write them, for addresses that must not be dialled. */
const LITERALS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '017700000001',
  '0177.0.0.1',
  '0.0.0.0',
  '0',
  '169.254.169.254',
  '2852039166',
  '168.63.129.16',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '192.0.0.192',
  '224.0.0.1',
  '255.255.255.255',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '[fec0::1]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b:1::10.0.0.1]',
  '[2002:7f00:1::]',
  '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
  '[ff02::1]',
  '[4000::1]',
  '[8000::1]',
]

trusted('an address that was not named is not dialled, in whatever form it is written (A47)', async () => {
  await using server = await listening(hello)
  const fetch = trustedFetch({ allow: ['model.test', '203.0.113.7'], timeoutMs: 5_000 })
  for (const host of LITERALS) {
    assert.is(codeOf(await rejection(fetch(`http://${host}:${server.port}/`))), 'address-refused', host)
  }
  assert.equal(server.seen, [])
})

trusted('a trusted name that resolves to such an address is not dialled (A47)', async () => {
  await using server = await listening(hello)
  const addresses = LITERALS.filter((each) => /^(\d+\.){3}\d+$|^\[/.test(each)).map((each) =>
    each.replace(/[[\]]/g, ''),
  )
  assert.ok(addresses.length > 20)
  for (const address of addresses) {
    for (const answers of [[address], ['93.184.215.14', address], [`${address}%eth0`]]) {
      const fetch = trustedFetch({ allow: [`model.test:${server.port}`], lookup: async () => answers })
      assert.is(codeOf(await rejection(fetch(`http://model.test:${server.port}/`))), 'address-refused', answers.join())
    }
  }
  const nowhere = trustedFetch({ allow: [`model.test:${server.port}`], lookup: async () => [] })
  assert.is(codeOf(await rejection(nowhere(`http://model.test:${server.port}/`))), 'address-refused')
  assert.equal(server.seen, [])
})

trusted(
  'what is connected to is what was checked, though the name says something else a moment later (A47)',
  async () => {
    await using server = await listening(hello)
    let lookups = 0
    const lookup = async (): Promise<string[]> => [++lookups === 1 ? '127.0.0.1' : '169.254.169.254']
    const fetch = trustedFetch({ allow: [`model.test:${server.port}`, '127.0.0.1'], lookup })
    const response = await fetch(`http://model.test:${server.port}/a`)
    assert.equal([await response.text(), lookups, server.seen], ['hello', 1, ['127.0.0.1 /a']])
    const again = trustedFetch({ allow: [`model.test:${server.port}`, '127.0.0.1'], lookup })
    assert.is(codeOf(await rejection(again(`http://model.test:${server.port}/b`))), 'address-refused')
  },
)

trusted('a redirect is not followed, to anywhere (A47)', async () => {
  const places = ['http://169.254.169.254/latest/meta-data', '/elsewhere']
  await using server = await listening((request, response) => {
    response.writeHead(302, { location: places[Number(request.url?.slice(1))] ?? '' }).end()
  })
  const fetch = trustedFetch({ allow: [`127.0.0.1:${server.port}`] })
  for (const i of places.keys()) {
    assert.is(codeOf(await rejection(fetch(`http://127.0.0.1:${server.port}/${i}`))), 'redirect-refused')
  }
  assert.is(server.seen.length, places.length)
})

trusted('a name, a port or a scheme that was not named is refused before its address is looked up (A47)', async () => {
  let lookups = 0
  const lookup = async (): Promise<string[]> => {
    lookups += 1
    return ['127.0.0.1']
  }
  const fetch = trustedFetch({ allow: ['model.test', 'other.test:8443', '127.0.0.0/8'], lookup })
  for (const url of [
    'http://evil.test/',
    'http://model.test:8080/',
    'https://other.test/',
    'http://model.test.evil.test/',
    'http://model.test./',
    'http://evilmodel.test/',
  ]) {
    assert.is(codeOf(await rejection(fetch(url))), 'address-refused', url)
  }
  assert.is(lookups, 0)
})

trusted('what was named is dialled: a literal, a block, a name with its block', async () => {
  await using server = await listening(hello)
  const { port } = server
  const lookup = async (): Promise<string[]> => ['127.0.0.1']
  const cases = [
    { allow: [`127.0.0.1:${port}`], url: `http://127.0.0.1:${port}/` },
    { allow: ['127.0.0.0/8'], url: `http://127.0.0.1:${port}/` },
    { allow: ['127.0.0.0/8'], url: `http://2130706433:${port}/` },
    ...(server.hasV6 ? [{ allow: ['::1'], url: `http://[::1]:${port}/` }] : []),
    { allow: [`MODEL.test:${port}`, '127.0.0.1'], url: `http://model.TEST:${port}/` },
  ]
  for (const { allow, url } of cases) {
    const response = await trustedFetch({ allow, lookup })(url)
    assert.is(await response.text(), 'hello', url)
  }
})

trusted('an allow list that says nothing, or nothing clear, is refused at once', () => {
  for (const allow of [[], ['https://model.test'], ['model.test/v1'], ['10.0.0.0/40'], ['user@model.test'], ['']]) {
    let code: unknown
    try {
      trustedFetch({ allow })
    } catch (error) {
      code = codeOf(error)
    }
    assert.is(code, 'invalid-allow', allow.join())
  }
})

trusted('a body without an end breaks off, and a request whose answer does not come ends', async () => {
  await using server = await listening((request, response) => {
    if (request.url === '/silent') return
    const more = (): void => {
      while (response.write(Buffer.alloc(65_536))) if (response.destroyed) return
      response.once('drain', more)
    }
    more()
  })
  const allow = [`127.0.0.1:${server.port}`]
  const endless = await trustedFetch({ allow, maxResponseBytes: 1_000_000 })(`http://127.0.0.1:${server.port}/`)
  assert.is(codeOf(await rejection(endless.text())), 'response-too-large')
  const silent = await rejection(trustedFetch({ allow, timeoutMs: 30 })(`http://127.0.0.1:${server.port}/silent`))
  assert.is((silent as Error).name, 'TimeoutError')
})

const CHUNKS = ['he', 'llo'].map((content) => ({ choices: [{ index: 0, delta: { content } }] }))
const USAGE = { prompt_tokens: 3, completion_tokens: 2 }

/** An endpoint of the chat format. */
function chat(request: IncomingMessage, response: ServerResponse): void {
  let text = ''
  request.on('data', (portion) => (text += String(portion)))
  request.on('end', () => {
    const { stream, model } = JSON.parse(text) as { stream?: boolean; model: string }
    if (model === 'gone') return void response.writeHead(404).end('{"error":"no such model"}')
    if (stream !== true) {
      const message = { role: 'assistant', content: 'hello' }
      return void response.end(JSON.stringify({ choices: [{ index: 0, message }], usage: USAGE }))
    }
    const events = [...CHUNKS, { choices: [], usage: USAGE }].map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`)
    response.end(`: a comment\n\n${events.join('')}data: [DONE]\n\n`)
  })
}

for (const { name, open } of HOMES) {
  trusted(`an endpoint is called, tracked and served like any client ${name}`, async () => {
    await using server = await listening(chat)
    await using home = await open()
    const options = { baseURL: `http://127.0.0.1:${server.port}/v1/`, allow: [`127.0.0.1:${server.port}`] }
    const own = trackOpenAI(openAiCompatible(options), { provider: 'own', price: 'free', maxOutputTokens: 10 })
    const openai = trackOpenAI(new OpenAI({ apiKey: 'k', baseURL: options.baseURL, fetch: trustedFetch(options) }), {
      price: 'free',
      maxOutputTokens: 10,
    })
    const request = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
    const body = async (): Promise<unknown> => {
      const answer = await own.chat.completions.create(request)
      const chunks = await collected(await own.chat.completions.create({ ...request, stream: true }))
      const same = await collected(await openai.chat.completions.create({ ...request, stream: true }))
      const gone = await rejection(own.chat.completions.create({ ...request, model: 'gone' }))
      return { content: answer.choices, chunks, same, gone: (gone as Error).message } as never
    }
    const output = await home.process().run({ id: 'r', budget: { cost: '1.00 USD', tokens: 10_000 } }, body)
    const { chunks, same, gone } = output as { chunks: unknown; same: unknown; gone: string }
    assert.equal([chunks, same], [CHUNKS, CHUNKS])
    assert.match(gone, /^404 .*no such model/)
    assert.is(server.seen.length, 4)
    assert.equal((await home.process().replay('r', body)).output, output)
    assert.is(server.seen.length, 4)
    assert.is((await home.connection.budget('r')).tokens, 15)
  })
}

trusted('server-sent events are read as the standard says, wherever the portions are cut', async () => {
  const text =
    '\ufeffdata: one\n\ndata:two\ndata: lines\r\n\r\nevent: x\rdata: café\r\r: no\nid: 7\n\ndata\n\ndata:  sp\n\ndata: cut off'
  const expected = ['one', 'two\nlines', 'café', '', ' sp']
  const bytes = new TextEncoder().encode(text)
  for (let size = 1; size <= bytes.length; size += 1) {
    const portions = async function* (): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size)
    }
    assert.equal(await collected(sseData(portions())), expected, `portions of ${size}`)
  }
})

trusted.run()
