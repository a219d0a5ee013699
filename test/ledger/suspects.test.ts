import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Caller } from '../../src/ledger/ledger.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { fork } from '../support/fork-driver.ts'
import { testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { drive, ok, type RunDriver, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, ownCaller, type TestLedger, testLedger } from '../support/test-ledger.ts'

const test = suite('open suspects of a run')

const bob: Caller = ownCaller('acme', { actor: 'bob' })
const ORDER = { carrier: 'K7Q', gate: 'B22', seat: 'A1', pier: 'N4' }

interface Listed {
  readonly total: number
  readonly ids: readonly string[]
  readonly items: readonly JsonObject[]
}

async function open({ ledger }: Pick<TestLedger, 'ledger'>, runId = 'r', limit = 100): Promise<Listed> {
  const found = await ledger.suspects(alice, runId, { after: -1, limit })
  assert.ok(found.ok)
  const items = found.value.items as JsonObject[]
  return { total: Number(found.value.total), ids: items.map(({ id }) => String(id)), items }
}

const review = (
  run: RunDriver,
  suspects: readonly string[],
  decision: 'confirmed' | 'rejected' = 'confirmed',
): ReturnType<RunDriver['do']> =>
  run.do({ kind: 'review', body: { suspects: [...suspects], decision, reason: 'looked it up' } })

/** A run whose second handoff changes two places that nothing explains. */
async function suspicious(test: TestLedger, more: JsonObject = {}): Promise<{ run: RunDriver; judge: RunDriver }> {
  const run = drive(test, 'r')
  await run.start({ policy: { ...more } })
  ok(await run.hand('a', { order: ORDER }))
  ok(await run.hand('b', { order: { ...ORDER, carrier: 'X9P', gate: 'C31' } }))
  return { run, judge: drive(test, 'r', bob) }
}

test('each suspect of an accepted handoff is open, with place, values, step, event and agent, until something explains it (JUD-60)', async () => {
  await using opened = await testLedger()
  const { run } = await suspicious(opened)
  const { total, items } = await open(opened)
  const [, second] = (await run.events()).filter(({ header }) => header.type === 'EnvelopeAccepted')
  assert.is(total, 2)
  assert.equal(
    items.map(({ id, path, before, after, step, eventId, agent, rule }) => ({
      ...{ id, path, before, after, step, eventId, agent, rule },
    })),
    [
      { id: '2.1', path: '/order/carrier', before: 'K7Q', after: 'X9P' },
      { id: '2.2', path: '/order/gate', before: 'B22', after: 'C31' },
    ].map((each) => ({ ...each, step: 2, eventId: second?.header.id, agent: 'b', rule: 'contradicted' })),
  )
  const shown = (await run.state()).suspects
  assert.equal(shown, [
    { id: '2.1', path: '/order/carrier', agent: 'b' },
    { id: '2.2', path: '/order/gate', agent: 'b' },
  ])
  const { items: all } = await openOfTenant(opened)
  assert.equal(all, ['r 2.1', 'r 2.2'])
})

async function openOfTenant({ ledger }: TestLedger, limit = 100) {
  const items: string[] = []
  let from: Parameters<typeof ledger.openSuspects>[1]['from']
  for (;;) {
    const found = await ledger.openSuspects(alice, { limit, ...(from && { from }) })
    assert.ok(found.ok)
    items.push(...found.value.items.map(({ runId, id }) => `${runId} ${id}`))
    from = found.value.next
    if (from === undefined) return { items }
  }
}

test('the list of a tenant goes on behind its page, over runs and within one (JUD-60)', async () => {
  await using opened = await testLedger()
  for (const id of ['r1', 'r2', 'calm']) {
    const run = drive(opened, id)
    await run.start()
    ok(await run.hand('a', { order: ORDER }))
    if (id !== 'calm') ok(await run.hand('b', { order: { ...ORDER, carrier: 'X9P', gate: 'C31' } }))
  }
  for (const limit of [1, 3, 100]) {
    assert.equal((await openOfTenant(opened, limit)).items.toSorted(), ['r1 2.1', 'r1 2.2', 'r2 2.1', 'r2 2.2'])
  }
})

test('a later handoff closes what it supersedes, one entry for one place; the event says so (JUD-62)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start()
  const trip = { no: 'T1' }
  const now = { order: { ...ORDER, carrier: 'X9P', gate: 'C31' }, trip }
  ok(await run.hand('a', { order: ORDER, trip }))
  ok(await run.hand('b', now))
  const whole = [{ path: '/order', reason: 'the airline wrote' }]
  ok(await run.hand('b', now, { supersedes: whole }))
  assert.equal((await open(opened)).ids, ['2.1', '2.2'])
  const body = ok(await run.hand('b', now, { supersedes: [{ path: '/order/gate', reason: 'the airline wrote' }] }))
  assert.equal(body.suspectsClosed, [{ id: '2.2', by: 'supersession' }])
  assert.equal((await open(opened)).ids, ['2.1'])
  ok(await run.hand('b', now, { supersedes: whole }))
  assert.equal((await open(opened)).ids, [])
  assert.equal((await openOfTenant(opened)).items, [])
})

test('a supersession of another member at the same index closes nothing (JUD-62)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start()
  const legs = [
    { id: 'L1', gate: 'B22' },
    { id: 'L2', gate: 'C31' },
  ]
  ok(await run.hand('a', { legs }))
  ok(await run.hand('b', { legs: [{ id: 'L1', gate: 'D40' }, legs[1]] as JsonObject[] }))
  assert.equal((await open(opened)).ids, ['2.1'])
  ok(await run.hand('b', { legs: [legs[1], { id: 'L1', gate: 'D40' }] as JsonObject[] }))
  const supersedes = (at: number) => ({ supersedes: [{ path: `/legs/${at}/gate`, reason: 'the board says so' }] })
  const swapped = { legs: [legs[1], { id: 'L1', gate: 'D40' }] as JsonObject[] }
  ok(await run.hand('b', swapped, supersedes(0)))
  assert.equal((await open(opened)).ids, ['2.1'])
})

test('a declaration in force that the change keeps closes it; one of another kind does not (JUD-62)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start()
  ok(await run.hand('a', { tour: { level: 40, code: 'K7Q' } }))
  ok(await run.hand('a', { tour: { level: 31, code: 'X9P' } }))
  assert.equal((await open(opened)).ids, ['2.1', '2.2'])
  const now = { tour: { level: 31, code: 'X9P' } }
  const declared = (path: string, as: string) => ({ moves: [{ path, as, reason: 'of the van' }] })
  ok(await run.hand('a', now, declared('/tour/level', 'counter')))
  assert.equal((await open(opened)).ids, ['2.1', '2.2'])
  const body = ok(await run.hand('a', now, declared('/tour/code', 'cursor')))
  assert.equal(body.suspectsClosed, [{ id: '2.1', by: 'declaration' }])
})

test('a result that a tool answered since, of the same thing, closes it with the next handoff; one of another thing does not (JUD-62)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start()
  const order = { id: 'A-1', carrier: 'K7Q', lines: 3 }
  ok(await run.hand('a', { order }))
  const now = { order: { ...order, carrier: 'X9P' } }
  ok(await run.hand('b', now))
  const answered = async (tool: string, result: JsonObject): Promise<void> => {
    ok(await run.settle(await run.claimed(tool, { args: { id: 'A-1' } }), { result }))
    ok(await run.hand('b', now))
  }
  await answered('other', { order: { id: 'A-2', carrier: 'X9P' } })
  assert.equal((await open(opened)).ids, ['2.1'])
  await answered('same', { order: { id: 'A-1', carrier: 'X9P' } })
  assert.equal((await open(opened)).ids, [])
  await verifiedFold(opened, 'r')
})

test('a person confirms, once, and not what they handed over themselves; a refused review decides none of its suspects (JUD-63)', async () => {
  await using opened = await testLedger()
  const { run, judge } = await suspicious(opened)
  refusedWith(await review(run, ['2.1']), 'self-review')
  refusedWith(await review(judge, ['2.1', '9.1']), 'suspect-not-found')
  assert.equal((await open(opened)).ids, ['2.1', '2.2'])
  const body = ok(await review(judge, ['2.1']))
  assert.equal([body.decision, body.by, body.openSuspects], ['confirmed', 'bob', 1])
  refusedWith(await review(judge, ['2.1']), 'suspect-closed')
  refusedWith(await review(judge, ['2.1', '2.2']), 'suspect-closed')
  assert.equal((await open(opened)).ids, ['2.2'])
  assert.is((await replayed(opened.ledger, 'r')).verdict, 'VERIFIED')
})

test('of two people who review the same suspect at once one is refused (JUD-63)', async () => {
  await using opened = await testLedger()
  const { judge } = await suspicious(opened)
  const sibling = drive({ ledger: await opened.sibling() }, 'r', bob)
  const both = await Promise.all([review(judge, ['2.1']), review(sibling, ['2.1'], 'rejected')])
  assert.is(both.filter((outcome) => outcome.ok).length, 1)
  assert.is((await judge.types()).filter((type) => type === 'SuspectReviewed').length, 1)
})

test('a rejection goes back to the context before the first of its suspects, in one write (JUD-64)', async () => {
  await using opened = await testLedger()
  const { run } = await suspicious(opened)
  ok(await run.hand('c', { order: { ...ORDER, carrier: 'X9P', gate: 'C31', seat: 'Z9' } }))
  assert.equal((await open(opened)).ids, ['2.1', '2.2', '3.1'])
  const body = ok(await review(run, ['2.2'], 'rejected'))
  assert.equal([body.step, body.openSuspects], [1, 0])
  assert.equal((await run.types()).slice(-2), ['RunRewound', 'SuspectReviewed'])
  assert.is((await run.state()).step, 1)
  refusedWith(await review(run, ['2.1']), 'suspect-closed')
  ok(await run.hand('b', { order: { ...ORDER, note: 'again' } }))
  await verifiedFold(opened, 'r')
})

test('a rollback takes the suspects of what it undoes away, and opens what that closed (JUD-61)', async () => {
  await using opened = await testLedger()
  const { run } = await suspicious(opened)
  const now = { order: { ...ORDER, carrier: 'X9P', gate: 'C31' } }
  ok(await run.hand('b', now, { supersedes: [{ path: '/order/gate', reason: 'the airline wrote' }] }))
  assert.equal((await open(opened)).ids, ['2.1'])
  ok(await run.do({ kind: 'rollback', body: { reason: 'back', toStep: 2 } }))
  assert.equal((await open(opened)).ids, ['2.1', '2.2'])
  ok(await run.do({ kind: 'rollback', body: { reason: 'back', toStep: 1 } }))
  assert.equal((await open(opened)).ids, [])
})

test('a branch brings its suspects where it is merged, and only there (JUD-61)', async () => {
  for (const winner of ['a', 'b'] as const) {
    await using opened = await testLedger()
    const run = drive(opened, 'r')
    await run.start()
    ok(await run.hand('a', { order: ORDER }))
    const open2 = await fork(run, 'vote', ['a', 'b'])
    ok(await open2.report('a', { output: { order: { carrier: 'X9P' } }, score: winner === 'a' ? 2 : 0 }))
    ok(await open2.report('b', { output: { by: 'b' }, score: 1 }))
    assert.equal((await open(opened)).ids, [])
    ok(await open2.join())
    assert.equal((await open(opened)).ids, winner === 'a' ? ['2.1'] : [])
  }
})

test('past what is named the count stays true: the others of a handoff are one entry, which only a person or a rollback closes (JUD-60)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start()
  const rows = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`k${i}`, `${prefix}${i * 7}Q`]))
  ok(await run.hand('a', { order: rows('K') }))
  for (const [i, prefix] of ['X', 'Y', 'Z'].entries()) {
    ok(await run.hand('b', { order: rows(prefix) }))
    assert.is((await open(opened, 'r', 1000)).total, 150 * (i + 1))
  }
  const { ids, items } = await open(opened, 'r', 1000)
  assert.is(ids.length, 256 + 1)
  assert.equal(
    items.filter(({ count }) => count !== 1).map(({ id, count }) => [id, count]),
    [
      ['2.rest', 50],
      ['3.rest', 50],
      ['4.rest', 96],
    ],
  )
  const body = ok(await review(drive(opened, 'r', bob), ['4.rest', '2.1']))
  assert.is(body.openSuspects, 450 - 96 - 1)
})

// The same set, read twice: by the fold, and by a reading of the events that keeps no state.

type Step =
  | { readonly op: 'change' | 'supersede' | 'explain'; readonly place: number }
  | { readonly op: 'back'; readonly by: number }
  | { readonly op: 'review'; readonly nth: number; readonly decision: 'confirmed' | 'rejected' }

const PLACES = Object.keys(ORDER) as (keyof typeof ORDER)[]
const place = fc.nat(PLACES.length - 1)
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ op: fc.constantFrom('change', 'supersede', 'explain'), place }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('back'), by: fc.integer({ min: 1, max: 3 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        op: fc.constant('review'),
        nth: fc.nat(8),
        decision: fc.constantFrom('confirmed', 'confirmed', 'rejected'),
      }),
    },
  ),
  { minLength: 1, maxLength: 25 },
) as fc.Arbitrary<Step[]>

/** From the end to the beginning: which handoffs count, then what these raised, less what these and people closed. */
function naive(events: readonly LedgerEvent[]): readonly string[] {
  let keep = Number.POSITIVE_INFINITY
  const accepted: EventBody<'EnvelopeAccepted'>[] = []
  const confirmed = new Set<string>()
  for (const { header, data } of events.toReversed()) {
    if (header.type === 'RunRewound') keep = Math.min(keep, Number(data.toStep))
    if (header.type === 'SuspectReviewed') for (const id of data.suspects as string[]) confirmed.add(id)
    const handoff = data as unknown as EventBody<'EnvelopeAccepted'>
    if (header.type === 'EnvelopeAccepted' && handoff.step <= keep) accepted.unshift(handoff)
  }
  const closed = new Set(accepted.flatMap(({ suspectsClosed = [] }) => suspectsClosed.map(({ id }) => id)))
  return accepted
    .flatMap(({ step, findings = [] }) =>
      findings.filter(({ suspect }) => suspect === true).map((_, i) => `${step}.${i + 1}`),
    )
    .filter((id) => !closed.has(id) && !confirmed.has(id))
}

/** What a program that only knows what it did expects. */
class Model {
  readonly states: { order: Record<string, string>; open: readonly (readonly [id: string, place: string])[] }[] = [
    { order: {}, open: [] },
  ]
  readonly confirmed = new Set<string>()
  readonly steps = [0]
  last = 0

  get now() {
    return this.states.at(-1) as Model['states'][number]
  }

  get open(): readonly string[] {
    return this.now.open.map(([id]) => id).filter((id) => !this.confirmed.has(id))
  }

  accept(order: Record<string, string>, open: Model['states'][number]['open']): void {
    this.last += 1
    this.steps.push(this.last)
    this.states.push({ order, open })
  }

  backTo(step: number): void {
    while ((this.steps.at(-1) ?? 0) > step) {
      this.steps.pop()
      this.states.pop()
    }
  }
}

async function carryOut(
  step: Step,
  n: number,
  { run, judge, model }: { run: RunDriver; judge: RunDriver; model: Model },
) {
  if (step.op === 'back') {
    const toStep = model.steps.at(-1 - step.by)
    const outcome = await run.do({ kind: 'rollback', body: { reason: 'back', toStep: toStep ?? 999 } })
    assert.is(outcome.ok, toStep !== undefined)
    if (toStep !== undefined) model.backTo(toStep)
    return
  }
  if (step.op === 'review') {
    const id = model.open[step.nth] ?? `${model.last + 1}.1`
    const isOpen = model.open.includes(id)
    const outcome = await review(judge, [id], step.decision)
    assert.is(outcome.ok, isOpen, `review of ${id}`)
    if (!isOpen) return
    if (step.decision === 'confirmed') model.confirmed.add(id)
    else model.backTo(model.steps[model.steps.indexOf(Number.parseInt(id, 10)) - 1] ?? 0)
    return
  }
  const key = PLACES[step.place] as string
  const { order, open: before } = model.now
  if (order[key] === undefined) return
  const next = step.op === 'explain' ? order : { ...order, [key]: `Q${n * 31}X` }
  const supersedes = step.op === 'change' ? [] : [{ path: `/order/${key}`, reason: 'the desk said so' }]
  ok(await run.hand('b', { order: next }, { supersedes }))
  const left = step.op === 'change' ? before : before.filter(([, at]) => at !== key)
  model.accept(next, step.op === 'change' ? [...left, [`${model.last + 1}.1`, key]] : left)
}

test('after any handoffs, rollbacks and reviews the open suspects are those that a plain reading of the events finds, and that the program expects (JUD-60 to JUD-64)', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      await using opened = await testLedger()
      const run = drive(opened, 'r')
      const judge = drive(opened, 'r', bob)
      await run.start()
      const model = new Model()
      ok(await run.hand('a', { order: ORDER }))
      model.accept({ ...ORDER }, [])
      for (const [n, step] of drawn.entries()) {
        await carryOut(step, n + 1, { run, judge, model })
        const { ids, total } = await open(opened)
        assert.equal(ids, model.open, JSON.stringify(step))
        assert.is(total, model.open.length)
      }
      assert.equal((await open(opened)).ids, naive(await run.events()))
      const folded = await verifiedFold(opened, 'r')
      assert.equal(
        folded.suspects.filter(({ closed }) => closed === undefined).map(({ id }) => id),
        model.open,
      )
    }),
    { seed: testSeed(7), numRuns: rounds(40, 300, 3_000) },
  )
})

test.run()
