import { existsSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import type { OpenLedger } from '../../src/compose/compose.ts'
import type { BatchItem, Outcome } from '../../src/ledger/ledger.ts'
import { readKeyFile, replaceKeyFile } from '../../src/signing/key-file.ts'
import { countersign } from '../support/command-line.ts'
import { rotated } from '../support/key-rotation.ts'
import { randomRun } from '../support/random-run.ts'
import { rounds } from '../support/rounds.ts'
import { drive, idempotent, listed, ok, refusedWith, replayed } from '../support/run-driver.ts'
import { likeness, openWithSealing } from '../support/sealing.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { alice, type TestLedger } from '../support/test-ledger.ts'
import { programBefore } from '../support/upkeep.ts'
import { eventually } from '../support/within.ts'

const test = suite('threads that decide and seal')

const NAMES = Array.from({ length: 6 }, (_, n) => `r${n}`)

async function recorded(opened: OpenLedger, runId: string): Promise<string> {
  const run = drive(opened, runId)
  const events = (await run.events()).map(({ header, data }) => [header.type, header.actor, data] as Json)
  return likeness([events, await run.state(), (await replayed(opened.ledger, runId)).verdict ?? null])
}

/** Runs of a little of everything side by side, then some that know of each other, and a batch over all. */
async function workedOn(threads: number, seed: number): Promise<readonly string[]> {
  using folder = tempFolder()
  await using opened = await openWithSealing(folder.file('data'), threads)
  assert.is(opened.sealing?.stats().threads ?? 0, threads)
  const byChance = { ...opened, clock: { nowMs: 0, setAheadMs: 0 } } as unknown as TestLedger
  await Promise.all(NAMES.map((name, n) => randomRun(byChance, name, { seed: seed * 100 + n, steps: 25 })))
  const said = await related(opened)
  const states: string[] = []
  for (const name of [...NAMES, 'parent', 'branch', 'child']) states.push(await recorded(opened, name))
  return [...states, likeness(said)]
}

async function related(opened: OpenLedger): Promise<Json> {
  const parent = drive(opened, 'parent')
  await parent.start()
  ok(await parent.hand('ann', { facts: ['one'] }))
  await drive(opened, 'branch').start({ branchOf: { run: 'parent', atStep: 1 } })
  const callId = await parent.claimed('work')
  await drive(opened, 'child').start({ childOf: { run: 'parent', callId, fence: 1 } })
  const items = ['parent', 'branch', 'child', 'nobody', 'parent', 'branch'].map(
    (runId, n): BatchItem => ({
      runId,
      command: { kind: 'envelope', body: { agent: 'ann', mode: 'extend', payload: { facts: [`f${n}`] } } },
    }),
  )
  const outcomes = await opened.ledger.executeBatch(alice, items, idempotent('batch'))
  const again = await opened.ledger.executeBatch(alice, items, idempotent('batch'))
  assert.equal(
    again.map(({ replayed: isReplayed }) => isReplayed),
    outcomes.map((outcome) => outcome.ok),
  )
  return outcomes.map((outcome) => (outcome.ok ? outcome.body : { refused: outcome.refusal.code }))
}

test('the same commands leave the same events, states and answers with and without threads that seal, whichever runs they are about (RUN-104)', async () => {
  for (let seed = 1; seed <= rounds(1, 4); seed += 1) {
    const [alone, threads] = [await workedOn(0, seed), await workedOn(3, seed)]
    assert.equal(threads, alone, `seed ${seed}`)
  }
})

test('a write that was acknowledged is in every answer that follows it, whichever thread gives it (RUN-105)', async () => {
  using folder = tempFolder()
  await using opened = await openWithSealing(folder.file('data'), 2)
  await Promise.all(
    NAMES.map(async (name) => {
      const run = drive(opened, name)
      await run.start()
      for (let n = 1; n <= 5; n += 1) {
        const { revision } = ok(await run.hand('ann', { facts: Array.from({ length: n }, (_, at) => `f${at}`) }))
        assert.is((await run.state()).revision, revision)
        assert.is((await run.events()).at(-1)?.header.revision, revision)
        const { items } = await opened.ledger.listRuns(alice, { limit: 10 })
        assert.is(items.find(({ runId }) => runId === name)?.revision, revision)
      }
    }),
  )
  assert.is(opened.ledger.stats().appendedEvents, 6 * NAMES.length)
  assert.is(opened.ledger.stats().inFlightAppends, 0)
})

test('two claims of one call at once: one is granted, the other is told that it runs, and the key is carried out once (RUN-106)', async () => {
  using folder = tempFolder()
  await using opened = await openWithSealing(folder.file('data'), 2)
  for (const name of NAMES) {
    const run = drive(opened, name)
    await run.start()
    const claims = await Promise.all([1, 2, 3].map(() => run.claim('pay', { key: 'once' })))
    assert.is(claims.filter((claim) => claim.ok).length, 1)
    for (const claim of claims) if (!claim.ok) refusedWith(claim, 'call-in-progress')
    const keyed = await Promise.all([1, 2, 3].map(() => run.claim('pay', { key: 'keyed' }, idempotent('k'))))
    assert.is(keyed.filter((claim) => claim.ok && claim.created).length, 1)
    for (const claim of keyed) if (!claim.ok) refusedWith(claim, 'idempotency-in-flight')
    assert.equal(await run.types(), ['RunStarted', 'ToolCallClaimed', 'ToolCallClaimed'])
  }
})

test('a key that is rotated seals in every thread, in order in each stream, and the store verifies (RUN-107)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  {
    await using opened = await openWithSealing(data, 2)
    for (const name of NAMES) await drive(opened, name).start()
    const path = `${data}/keys.json`
    replaceKeyFile(path, rotated(readKeyFile(path)))
    const kid = readKeyFile(path).ring.keys.at(-1)?.kid
    let note = 0
    const isSealedAnew = async (): Promise<true | undefined> => {
      note += 1
      const last = await Promise.all(
        NAMES.map(async (name) => {
          ok(await drive(opened, name).hand('ann', { note: `${note}` }, { mode: 'replace' }))
          return (await drive(opened, name).events()).at(-1)?.header.kid
        }),
      )
      return last.every((each) => each === kid) || undefined
    }
    await eventually(isSealedAnew, 'the new key in every thread')
  }
  const verified = await countersign(['verify', '--data', data])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
})

/** Ends the thread, once, when a job comes while the file is there. */
const endsWithJob = (flag: string) => `
  import { rmSync } from 'node:fs'
  before = (message) => {
    if (message.kind !== 'jobs' || !existsSync(${JSON.stringify(flag)})) return
    rmSync(${JSON.stringify(flag)})
    process.exit()
  }`

/** Ends the thread, once, right after an append has left it while the file is there. */
const endsWithAppend = (flag: string) => `
  import { rmSync } from 'node:fs'
  const post = port.postMessage.bind(port)
  port.postMessage = (message) => {
    post(message)
    if (message.kind !== 'append' || !existsSync(${JSON.stringify(flag)})) return
    rmSync(${JSON.stringify(flag)})
    process.exit()
  }`

for (const [what, ending, written] of [
  ['before it has begun on a command (F270)', endsWithJob, false],
  ['after it has handed an append over (F271)', endsWithAppend, true],
] as const) {
  test(`a thread that ends ${what}: its callers are told that nobody knows, a repeat under the same key is carried out once, and other runs go on`, async () => {
    using folder = tempFolder()
    const flag = folder.file('flag')
    const warnings: string[] = []
    const log = { info: () => {}, error: () => {}, warn: (_: object, message: string) => void warnings.push(message) }
    const sealProgram = programBefore(ending(flag), 'seal-worker')
    await using opened = await openWithSealing(folder.file('data'), 2, { sealProgram }, log)
    const runs = NAMES.map((name) => drive(opened, name))
    for (const run of runs) await run.start()
    writeFileSync(flag, '')
    const hand = (): Promise<Outcome[]> =>
      Promise.all(
        runs.map((run) =>
          run.do({ kind: 'envelope', body: { agent: 'ann', payload: { note: 'x' } } }, idempotent(`k-${run.runId}`)),
        ),
      )
    const first = await hand()
    const lost = first.filter((outcome) => !outcome.ok)
    assert.ok(lost.length > 0 && lost.length < runs.length, `${lost.length} lost`)
    for (const outcome of lost) assert.match(refusedWith(outcome, 'store-unavailable').detail, /Idempotency-Key/)
    assert.not.ok(existsSync(flag))
    const again = await eventually(async () => {
      const outcomes = await hand()
      return outcomes.every((outcome) => outcome.ok) ? outcomes : undefined
    }, 'the thread started again')
    for (const [index, run] of runs.entries()) {
      assert.equal(await run.types(), ['RunStarted', 'EnvelopeAccepted'])
      if (first[index]?.ok === true || written) assert.is(again[index]?.replayed, true)
    }
    assert.is(opened.sealing?.stats().deaths, 1)
    assert.is(warnings.filter((each) => each.includes('has ended')).length, 1)
    assert.is(opened.ledger.stats().inFlightAppends, 0)
  })
}

test('closing waits for what is under way: each command is answered, and what was acknowledged is there at the next start (F272)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const acknowledged = new Map<string, unknown>()
  {
    const opened = await openWithSealing(data, 2)
    for (const name of NAMES) await drive(opened, name).start()
    const hands = NAMES.map((name) => drive(opened, name).hand('ann', { note: 'the last' }))
    const closed = opened[Symbol.asyncDispose]()
    for (const [index, outcome] of (await Promise.all(hands)).entries())
      if (outcome.ok) acknowledged.set(NAMES[index] ?? '', outcome.revision)
    await closed
    refusedWith(await drive(opened, 'r0').hand('ann', { note: 'too late' }), 'store-unavailable')
  }
  await using opened = await openWithSealing(data, 0)
  assert.ok(acknowledged.size > 0)
  for (const [name, revision] of acknowledged) assert.is((await drive(opened, name).state()).revision, revision)
})

test('an edit of the policy counts in every thread for the runs that are started after it (RUN-108)', async () => {
  using folder = tempFolder()
  const policy = folder.file('policy.json')
  writeFileSync(policy, JSON.stringify({ base: 'default', protect: [] }))
  await using opened = await openWithSealing(folder.file('data'), 2, { policy })
  const change = async (name: string): Promise<Outcome> => {
    const run = drive(opened, name)
    await run.start()
    ok(await run.hand('ann', { rules: { a: 1 } }))
    return run.hand('ann', { rules: { a: 2 } })
  }
  for (const name of NAMES) ok(await change(`before-${name}`))
  writeFileSync(policy, JSON.stringify({ base: 'default', protect: ['rules'] }))
  await eventually(async () => ((await change(`try-${crypto.randomUUID()}`)).ok ? undefined : true), 'the edit')
  for (const name of NAMES) {
    const refusal = refusedWith(await change(`after-${name}`), 'contradiction')
    assert.is(listed(refusal, 'findings')[0]?.path, '/rules/a')
  }
})

test.run()
