import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { progressFile } from '../../src/webhooks/delivery-progress.ts'
import { type PostOptions, postDelivery } from '../../src/webhooks/post-delivery.ts'
import { parseSecrets } from '../../src/webhooks/signed-headers.ts'
import { WebhookDeliveries, type WebhookOptions } from '../../src/webhooks/webhook-deliveries.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'
import { isSignedUnder, type Received, webhookReceiver } from '../support/webhook-receiver.ts'
import { eventually, within } from '../support/within.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('webhook deliveries')
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
const SECRET = newSecret()
const POLICY = { approve: [{ tools: ['pay'], reason: 'a secret reason' }] }
const CANARY = 'IBAN-DE02-canary'
const EVENTS = ['approval.requested', 'approval.granted', 'approval.denied', 'wait.started']
const SOON = { firstRetryMs: 5, lastRetryMs: 20 }
let files = 0

interface Logged {
  readonly level: string
  readonly message: string
  readonly fields: JsonObject
}

interface At extends Partial<Omit<WebhookOptions, 'secrets'>>, Partial<Omit<PostOptions, 'url'>> {
  readonly url: string
  readonly file?: string
  readonly secrets?: readonly string[]
}

function deliver(ledger: Pick<Ledger, 'notices' | 'ledgerId'>, at: At) {
  const logged: Logged[] = []
  const log = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, message, fields: fields as JsonObject })
  const { url, file = newFile(), secrets = [SECRET], allow = ['127.0.0.1'], timeoutMs = 30_000, lookup, ...more } = at
  const parsed = parseSecrets(secrets.join('\n')) ?? []
  const deliveries = new WebhookDeliveries({
    notices: ledger.notices,
    ledgerId: ledger.ledgerId,
    post: postDelivery({ url, version: 'test', allow, timeoutMs, ...(lookup && { lookup }) }),
    secrets: () => parsed,
    events: new Set(EVENTS),
    progress: progressFile(file),
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    effects: { nowMs: Date.now, monotonicMs: () => performance.now(), random: Math.random },
    timings: SOON,
    ...more,
  })
  return Object.assign(deliveries, { logged })
}

function newFile(): string {
  files += 1
  return folder.file(`webhook-${files}.json`)
}

/** A run in which this payment waits for a yes. */
async function asked({ run }: TestLedger, id: string): Promise<void> {
  assert.ok((await run('', { kind: 'start', body: { id, name: 'payments', policy: POLICY } })).ok)
  await run(id, { kind: 'claim', body: { tool: 'pay', args: { iban: CANARY, cents: 5 }, key: 'k', agent: 'clerk' } })
}

const runsOf = (received: readonly Received[]): readonly unknown[] => received.map(({ body }) => body.data.run)
const count = (at: { readonly received: readonly Received[] }, n: number) =>
  eventually(() => (at.received.length >= n ? true : undefined), `${n} deliveries`)

test('each approval and wait is told once, in order, signed, with its own id, and without what anybody passed (HTTP-14)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  await using deliveries = deliver(inner.ledger, { url: at.url, publicUrl: 'https://ledger.example.com/' })
  await asked(inner, 'r 1'.replace(' ', '-'))
  const page = await inner.ledger.approvals(alice, 'r-1', { after: -1, limit: 10 })
  const [approval] = (page.ok ? page.value.items : []) as readonly JsonObject[]
  const { approvalId, argsDigest, expiresAt } = approval ?? {}
  const bob = { tenant: 'acme', actor: 'agent-7', principal: 'bob' }
  const body = { argsDigest: `${argsDigest}`, comment: CANARY }
  await inner.ledger.execute(bob, 'r-1', { kind: 'grant', approvalId: `${approvalId}`, body }, {})
  await inner.run('r-1', {
    kind: 'wait',
    body: { name: 'paid', schema: { const: CANARY }, forMs: 60_000 },
  } as never)
  await count(at, 3)
  assert.equal(
    at.received.map(({ body: { type } }) => type),
    ['approval.requested', 'approval.granted', 'wait.started'],
  )
  const [first, second] = at.received
  const { event, ...data } = first?.body.data ?? {}
  assert.is(event, first?.id)
  const link = `https://ledger.example.com/ui/runs/r-1/approvals/${approvalId}`
  assert.equal(data, {
    ...{ ledger: inner.ledger.ledgerId, tenant: 'acme', run: 'r-1', revision: 1, actor: 'alice' },
    ...{ approvalId, tool: 'pay', phase: 'forward', agent: 'clerk', argsDigest, expiresAt, link },
  } as object)
  assert.equal(
    [second?.body.data.actor, second?.body.data.principal, second?.body.data.complete],
    ['agent-7', 'bob', true],
  )
  for (const one of at.received) {
    assert.ok(isSignedUnder(one, SECRET))
    assert.not.match(one.text, /canary|secret reason/)
    assert.ok(Math.abs(one.atSeconds - Date.now() / 1000) < 120)
  }
  assert.is(new Set(at.received.map(({ id }) => id)).size, 3)
  await eventually(() => (deliveries.stats().delivered === 3 ? true : undefined), 'the last answer')
})

test('what was on record and not delivered when a process was killed is delivered by the next one, under the same id (HTTP-14, F134)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  const file = newFile()
  at.answer = (_, response) => void response.writeHead(503).end()
  const { begin } = progressFile(file)
  // A process that is killed saves nothing any more.
  const killed = { read: () => undefined, begin, save: async () => undefined }
  const first = deliver(inner.ledger, { url: at.url, file, progress: killed })
  await asked(inner, 'a')
  await count(at, 1)
  await asked(inner, 'b')
  await first[Symbol.asyncDispose]()
  await asked(inner, 'c')
  const taken: string[] = []
  at.answer = ({ body }, response) => {
    taken.push(`${body.data.run}`)
    response.end()
  }
  const second = deliver(inner.ledger, { url: at.url, file })
  await eventually(() => (second.stats().delivered === 3 ? true : undefined), 'all three')
  assert.equal([...new Set(taken)], ['a', 'b', 'c'])
  assert.is(new Set(at.received.flatMap(({ id, body }) => (body.data.run === 'a' ? id : []))).size, 1)
  await second[Symbol.asyncDispose]()
  // Ended in order, nothing is told a second time.
  await using third = deliver(inner.ledger, { url: at.url, file })
  await asked(inner, 'd')
  await eventually(() => (third.stats().delivered > 0 ? true : undefined), 'the last one')
  assert.equal([taken.at(-1), third.stats().delivered, third.stats().undelivered], ['d', 1, 0])
})

test('what a receiver took while the process was killed is told again under the same id, and what one refuses for long is kept over lives (HTTP-14, F134)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  const file = newFile()
  at.answer = ({ body }, response) => void response.writeHead(body.data.run === 'poison' ? 422 : 200).end()
  const first = deliver(inner.ledger, { url: at.url, file })
  await asked(inner, 'poison')
  await asked(inner, 'other')
  await eventually(() => (first.stats().delivered === 1 ? true : undefined), 'the other one')
  await first[Symbol.asyncDispose]()
  assert.equal(progressFile(file).read()?.undelivered, [{ stream: 'run-acme.poison', revision: 1 }])
  at.answer = (_, response) => void response.end()
  await using second = deliver(inner.ledger, { url: at.url, file })
  await asked(inner, 'last')
  await eventually(() => (second.stats().delivered === 2 ? true : undefined), 'both')
  assert.is(at.received.filter(({ body }) => body.data.run === 'other').length, 1)
  assert.equal([...new Set(runsOf(at.received))], ['poison', 'other', 'last'])
})

test('two processes on one store tell each under the same id: the receiver knows the second one (HTTP-14)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  const sibling = await inner.sibling()
  await using _one = deliver(inner.ledger, { url: at.url })
  await using _two = deliver(sibling, { url: at.url })
  await asked(inner, 'r')
  await count(at, 2)
  assert.is(at.received[0]?.id, at.received[1]?.id)
  assert.equal(at.received[0]?.body, at.received[1]?.body)
})

test('a receiver that hangs holds no writer and little memory; the rest comes when it answers (HTTP-14, F135)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  at.answer = () => undefined
  await using deliveries = deliver(inner.ledger, { url: at.url, timeoutMs: 20 })
  const runs = Array.from({ length: 180 }, (_, i) => `r${i}`)
  for (const run of runs) await within(asked(inner, run), 'a request while the receiver hangs')
  await eventually(() => (deliveries.stats().failedAttempts > 0 ? true : undefined), 'an attempt that timed out')
  assert.ok(deliveries.stats().undelivered <= 128, `${deliveries.stats().undelivered} in memory`)
  assert.match(`${deliveries.logged[0]?.fields.reason}`, /does not answer within 20 ms/)
  const taken = new Set<unknown>()
  at.answer = ({ body }, response) => {
    taken.add(body.data.run)
    response.end()
  }
  await eventually(() => (taken.size === runs.length ? true : undefined), 'all of them')
})

test('a receiver that fails is tried again with the same id and a new time; one line says that it fails, one that it works (HTTP-14, F135)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  let fails = 4
  at.answer = (_, response) => void response.writeHead(fails-- > 0 ? 500 : 204).end()
  let nowMs = Date.now()
  const effects = { nowMs: () => (nowMs += 1_000), monotonicMs: () => performance.now(), random: Math.random }
  await using deliveries = deliver(inner.ledger, { url: at.url, effects })
  await asked(inner, 'r')
  await eventually(() => (deliveries.logged.length === 2 ? true : undefined), 'both lines')
  assert.equal(new Set(at.received.map(({ id }) => id)).size, 1)
  assert.is(at.received.length, 5)
  assert.ok(at.received.every((one) => isSignedUnder(one, SECRET)))
  assert.is(new Set(at.received.map(({ atSeconds }) => atSeconds)).size, 5)
  const [fault, works] = deliveries.logged
  assert.equal([fault?.level, fault?.fields.reason, works?.level], ['warn', 'it answers 500', 'info'])
  const { delivered, failedAttempts, givenUp, undelivered, oldestSeconds } = deliveries.stats()
  assert.equal([delivered, failedAttempts, givenUp, undelivered, oldestSeconds], [1, 4, 0, 0, 0])
})

test('an event that a receiver refuses for days is given up with a line that names it; it held up no other (HTTP-14, F136)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  at.answer = ({ body }, response) => void response.writeHead(body.data.run === 'poison' ? 400 : 200).end()
  const timings = { ...SOON, giveUpAfterMs: -1, attemptsMin: 7 }
  await using deliveries = deliver(inner.ledger, { url: at.url, timings })
  await asked(inner, 'poison')
  await asked(inner, 'good')
  const isOver = () => (deliveries.stats().givenUp === 1 && deliveries.stats().delivered === 1 ? true : undefined)
  await eventually(isOver, 'the end of both')
  assert.is(deliveries.stats().undelivered, 0)
  const line = deliveries.logged.find(({ level }) => level === 'error')
  const poison = at.received.find(({ body }) => body.data.run === 'poison')
  assert.equal(line?.fields, {
    ...{ event: poison?.id, type: 'approval.requested', stream: 'run-acme.poison', revision: 1 },
    ...{ attempts: 7, reason: 'it answers 400' },
  } as object)
})

test('a redirect is not followed, and what the log says of it holds no path and no query (HTTP-15, A203)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using elsewhere = await webhookReceiver()
  await using at = await webhookReceiver()
  at.answer = (_, response) => void response.writeHead(307, { location: elsewhere.url }).end()
  await using deliveries = deliver(inner.ledger, { url: at.url })
  await asked(inner, 'r')
  await eventually(() => (deliveries.stats().failedAttempts > 1 ? true : undefined), 'attempts')
  assert.equal([elsewhere.received, deliveries.logged[0]?.fields.reason], [[], 'it redirects (307)'])
  assert.not.match(JSON.stringify(deliveries.logged), /s3cret|hooks/)
})

test('a name that leads to a private address is not dialled, until the operator allows it; nor where it changes in between (HTTP-15, A203)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  const url = at.url.replace('127.0.0.1', 'hooks.test')
  const { host } = new URL(url)
  const lookup = async (): Promise<string[]> => ['127.0.0.1']
  const refused = deliver(inner.ledger, { url, allow: [host], lookup })
  await asked(inner, 'r')
  await eventually(() => (refused.stats().failedAttempts > 1 ? true : undefined), 'attempts')
  await refused[Symbol.asyncDispose]()
  assert.match(`${refused.logged[0]?.fields.reason}`, /resolves to 127\.0\.0\.1, which is not public/)
  assert.equal(at.received, [])
  await using _allowed = deliver(inner.ledger, { url, allow: [host, '127.0.0.0/8'], lookup })
  await count(at, 1)
})

test('while a secret is changed every delivery is signed under both (HTTP-14)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  const next = newSecret()
  await using _deliveries = deliver(inner.ledger, { url: at.url, secrets: [next, SECRET] })
  await asked(inner, 'r')
  await count(at, 1)
  const [one] = at.received
  assert.ok(
    one !== undefined && isSignedUnder(one, SECRET) && isSignedUnder(one, next) && !isSignedUnder(one, newSecret()),
  )
})

/** A store whose followers see other records than it holds. */
function followedAs(inner: EventStore, altered: (record: ReadRecord) => ReadRecord): EventStore {
  const subscribe: EventStore['subscribe'] = async function* (options, signal) {
    for await (const page of inner.subscribe(options, signal)) yield page === 'caught-up' ? page : page.map(altered)
  }
  return wrapStore(inner, { subscribe })
}

test('an event whose body is in an archive that is elsewhere is given up, and named, and others are told (HTTP-14, LIFE-56)', async () => {
  const inner = await openTestStore()
  await using plain = await testLedger({ realClock: true, store: inner })
  const archive = { name: 'acme-000001', exists: false }
  const store = followedAs(inner, (record) =>
    record.header.includes('"type":"ApprovalRequested"')
      ? { ...record, salt: new Uint8Array(), data: '', archive }
      : record,
  )
  await using at = await webhookReceiver()
  const moved = await testLedger({ realClock: true, store, keys: plain.keys.current() })
  await using deliveries = deliver(moved.ledger, { url: at.url })
  await asked(plain, 'r')
  await plain.run('r', { kind: 'wait', body: { name: 'paid' } } as never)
  await eventually(() => (deliveries.stats().delivered === 1 ? true : undefined), 'the one whose body is there')
  const { delivered, givenUp, undelivered } = deliveries.stats()
  assert.equal([at.received.map(({ body }) => body.type), delivered, givenUp, undelivered], [['wait.started'], 1, 1, 0])
  const [said] = deliveries.logged.filter(({ level }) => level === 'error')
  assert.is(said?.fields.type, 'approval.requested')
  assert.match(said?.message ?? '', /by hand/)
})

test('an event that somebody altered in the store is announced to nobody: the webhook signs what the ledger sealed (HTTP-14, A204)', async () => {
  const inner = await openTestStore()
  await using plain = await testLedger({ realClock: true, store: inner })
  const store = followedAs(inner, (record) => ({
    ...record,
    data: record.data.replace('"tool":"pay"', '"tool":"mint"'),
  }))
  await using at = await webhookReceiver()
  const evil = await testLedger({ realClock: true, store, keys: plain.keys.current() })
  await using deliveries = deliver(evil.ledger, { url: at.url })
  await asked(plain, 'r')
  await plain.run('r', { kind: 'wait', body: { name: 'paid' } } as never)
  await eventually(() => (deliveries.stats().delivered === 1 ? true : undefined), 'the one that is whole')
  assert.equal([at.received.map(({ body }) => body.type), deliveries.stats().undelivered], [['wait.started'], 0])
})

test('progress that is lost, broken or of another store costs no announcement: the store is looked through for what is of use (HTTP-14, F139)', async () => {
  await using inner = await testLedger({ realClock: true })
  await using at = await webhookReceiver()
  await asked(inner, 'before')
  const other = { v: 1 as const, after: { position: '999999', digest: 'sha256:0' }, undelivered: [] }
  const left: readonly (string | undefined)[] = [undefined, '{"v":', '{"v":7}', JSON.stringify(other)]
  for (const [index, text] of left.entries()) {
    const progress = { ...progressFile(undefined), read: () => (text === undefined ? undefined : readAs(text)) }
    await using _deliveries = deliver(inner.ledger, { url: at.url, progress })
    await count(at, index + 1)
  }
  assert.equal(
    runsOf(at.received),
    left.map(() => 'before'),
  )
  // Eight days later it says nothing to anybody, unless it can still be decided.
  const effects = {
    nowMs: () => Date.now() + 8 * 86_400_000,
    monotonicMs: () => performance.now(),
    random: Math.random,
  }
  await using _late = deliver(inner.ledger, { url: at.url, effects })
  await inner.run('before', {
    kind: 'wait',
    body: { name: 'much later', forMs: 40 * 86_400_000 },
  } as never)
  await count(at, left.length + 1)
  assert.is(at.received.at(-1)?.body.type, 'wait.started')
})

function readAs(text: string) {
  const file = newFile()
  writeFileSync(file, text)
  return progressFile(file).read()
}

test.run()
