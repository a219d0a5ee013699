import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { openLedger } from '../../src/compose/compose.ts'
import { judgedLedger } from '../../src/compose/judged-ledger.ts'
import { httpJudge } from '../../src/integrations/judge-client.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type Flags, readSettings } from '../../src/settings/config.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a judge at a URL')

type Answering = (asked: JsonObject, response: ServerResponse) => void

async function judgeAt(answering: Answering) {
  const asked: JsonObject[] = []
  const server = createServer((request: IncomingMessage, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      asked.push(JSON.parse(text) as JsonObject)
      answering(asked.at(-1) as JsonObject, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, asked, [Symbol.asyncDispose]: close }
}

const says =
  (answer: object): Answering =>
  (_, response) =>
    void response.end(JSON.stringify(answer))
const open = new AbortController().signal
const LOCAL = { allow: ['127.0.0.0/8'] }

test('whatever goes wrong with a judge at a URL is no assent, and takes neither long nor much (JUD-34, A174, A242)', async () => {
  const answers: readonly (readonly [RegExp, Answering, timeoutMs?: number])[] = [
    [/answers 500/, (_, response) => void response.writeHead(500).end('{"verdict":"accept"}')],
    [/redirect/, (_, response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
    [
      /more than 65536 bytes/,
      (_, response) => void response.end(`{"verdict":"accept","model":"${'x'.repeat(200_000)}"}`),
    ],
    [/JSON|token/i, (_, response) => void response.end('yes')],
    [/no \{verdict/, says({ verdict: 'maybe' })],
    [/no \{verdict/, says({ verdict: 'accept', step: 7 })],
    [/no \{path/, says({ verdict: 'reject', findings: [{ message: 'x' }] })],
    [/does not answer within/, () => undefined, 300],
    [/socket|closed|other side/i, (_, response) => void response.destroy()],
  ]
  for (const [reason, answering, timeoutMs = 30_000] of answers) {
    await using at = await judgeAt(answering)
    const said = await within(httpJudge(at.url, { ...LOCAL, timeoutMs })({ step: 1 }, open), `${reason}`)
    assert.is(said.verdict, 'unavailable')
    assert.match(said.reason ?? '', reason)
  }
  assert.is((await httpJudge('http://127.0.0.1:1/', LOCAL)({}, open)).verdict, 'unavailable')
  // A name of the operator's that leads to an address within is not followed there (A242).
  const within10 = { allow: ['judge.example'], lookup: async () => ['10.0.0.7'] }
  const inside = await httpJudge('https://judge.example/', within10)({}, open)
  assert.match(inside.reason ?? '', /judge.example resolves to 10.0.0.7, which is not public/)
  await using many = await judgeAt(says({ verdict: 'reject', findings: Array(50).fill({ path: '/a', message: 'x' }) }))
  assert.is((await httpJudge(many.url, LOCAL)({}, open)).findings?.length, 20)
})

test('runs whose policy names a judge are judged behind the answer, and refused where it objects (JUD-32, JUD-33)', async () => {
  await using at = await judgeAt((asked, response) => {
    const isWrong = `${(asked.after as JsonObject).notes}`.includes('no allergies')
    const findings = isWrong ? [{ path: '/notes', message: 'the facts name an allergy' }] : []
    response.end(JSON.stringify({ verdict: isWrong ? 'reject' : 'accept', findings, model: 'reader-1' }))
  })
  await using inner = await testLedger()
  const log = { warn: () => undefined }
  const ledger = judgedLedger(inner.ledger, { judge: httpJudge(at.url, LOCAL), name: 'notes.example', log })
  const run = (id: string, kind: string, body: object) => ledger.execute(alice, id, { kind, body } as never, {})
  await run('', 'start', { id: 'r', name: 'r', policy: { judge: 'reject' } })
  await run('', 'start', { id: 'q', name: 'q' })
  await run('q', 'envelope', { agent: 'a', payload: { notes: 'no allergies' } })
  const facts = { allergies: ['latex'] }
  assert.ok((await run('r', 'envelope', { agent: 'a', payload: { facts } })).ok)
  await judged(1)
  assert.ok((await run('r', 'envelope', { agent: 'a', payload: { facts, notes: 'no allergies' } })).ok)
  await judged(2)
  const more = { facts, notes: 'no allergies', plan: 'discharge' }
  assert.is((await run('r', 'envelope', { agent: 'a', payload: more })).ok, false)
  assert.ok((await run('r', 'envelope', { agent: 'a', payload: { ...more, notes: 'latex allergy' } })).ok)
  await judged(3)
  assert.equal(
    at.asked.map(({ run: id, step }) => [id, step]),
    [
      ['r', 1],
      ['r', 2],
      ['r', 3],
    ],
  )
  assert.equal([at.asked[1]?.before, at.asked[1]?.after], [{ facts }, { facts, notes: 'no allergies' }])

  async function judged(count: number): Promise<void> {
    const isOnRecord = async (): Promise<true | undefined> => {
      const found = await inner.ledger.runEvents(alice, 'r', { from: 0 })
      let seen = 0
      if (found.ok)
        for await (const page of found.value)
          seen += page.filter(({ header }) => header.type === 'JudgementRecorded').length
      return seen >= count ? true : undefined
    }
    await eventually(isOnRecord, `judgement ${count}`)
  }
})

function judgedBy(url: string, { ledger }: TestLedger): Ledger {
  return judgedLedger(ledger, { judge: httpJudge(url, LOCAL), name: 'j', log: { warn: () => undefined } })
}

/** 503 to the first question, yes to all others. */
function awayAtFirst(): Answering {
  let answers = 0
  return (_, response) => {
    answers += 1
    if (answers === 1) response.writeHead(503).end()
    else response.end('{"verdict":"accept"}')
  }
}

test('a judgement that a restart or an outage lost is requested again when the next handoff misses it (JUD-34, A175)', async () => {
  await using at = await judgeAt(awayAtFirst())
  await using inner = await testLedger()
  const ledger = judgedBy(at.url, inner)
  const post = (payload: JsonObject) =>
    ledger.execute(alice, 'r', { kind: 'envelope', body: { agent: 'a', payload } }, {})
  await ledger.execute(alice, '', { kind: 'start', body: { id: 'r', name: 'r', policy: { judge: 'reject' } } }, {})
  assert.ok((await post({ a: 1 })).ok)
  let tries = 0
  const isTaken = async (): Promise<true | undefined> => {
    tries += 1
    return (await post({ a: 1, b: 2 })).ok ? true : undefined
  }
  await eventually(isTaken, 'the handoff')
  assert.ok(tries > 1, `${tries} tries`)
  assert.ok(at.asked.length >= 2)
})

test('a fork that is refused for want of a judgement has the judge asked as well (JUD-33, A175)', async () => {
  await using at = await judgeAt(awayAtFirst())
  await using inner = await testLedger()
  const ledger = judgedBy(at.url, inner)
  const run = (body: object) => ledger.execute(alice, 'r', body as never, {})
  await run({ kind: 'start', body: { id: 'r', name: 'r', policy: { judge: 'reject' } } })
  assert.ok((await run({ kind: 'envelope', body: { agent: 'a', payload: { a: 1 } } })).ok)
  const fork = { kind: 'fork', body: { branches: [{ name: 'a', agent: 'a' }], join: 'vote' } }
  let tries = 0
  for (; tries < 500 && !(await run(fork)).ok; tries += 1) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(tries > 0 && tries < 500, `${tries} tries`)
})

test('a judge is dialled by https, by http on this machine, and where addresses are allowed by name (A242)', async () => {
  const fault = async (flags: Flags): Promise<string> => {
    const settings = readSettings({ store: 'memory:', ...flags }, {})
    const opened = await openLedger(settings, silentLog).catch((error: Error) => error)
    if (opened instanceof Error) return opened.message
    await opened[Symbol.asyncDispose]()
    return ''
  }
  for (const judge of ['https://judge.example/v1', 'http://localhost:9000/', 'http://[::1]:9000/'])
    assert.is(await fault({ judge }), '', judge)
  assert.is(await fault({ judge: 'http://judge.internal/', 'judge-allow': '10.0.0.0/8' }), '')
  assert.match(await fault({ judge: 'http://judge.internal/' }), /takes https, or --judge-allow/)
  assert.match(await fault({ judge: 'https://169.254.169.254/' }), /name it in --judge-allow/)
  assert.match(await fault({ judge: 'https://me:pass@judge.example/' }), /leave the user out/)
  assert.match(
    await fault({ judge: 'https://judge.example/', 'judge-allow': '10.0.0.0/99' }),
    /--judge-allow: .*no CIDR block/,
  )
})

test('the address of the judge is a setting of the operator, and has no other scheme than HTTP', () => {
  for (const judge of ['file:///etc/passwd', 'judge', 'ftp://127.0.0.1/']) {
    assert.throws(() => readSettings({ judge }, {}), /--judge: takes a URL that begins with http/)
  }
  assert.is(readSettings({}, { COUNTERSIGN_JUDGE: 'https://judge.example/v1' }).judge, 'https://judge.example/v1')
})

test.run()
