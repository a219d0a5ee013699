import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { openEmbedded } from '../../src/compose/embedded.ts'
import type { Caller, Command, Ledger } from '../../src/ledger/ledger.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { ok, replayed } from '../support/run-driver.ts'
import { ROOT } from '../support/source-root.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

interface Context {
  /** The data folder of open runs, as version 0.1.0 left it. */
  folder: TempFolder
}

interface RecordedRun {
  readonly now: {
    readonly step: number
    readonly parent: string
    readonly contextDigest: string
    readonly context: JsonObject
  }
  readonly events: readonly {
    readonly type: string
    readonly digest: string
    readonly step: number
    readonly contextDigest: string
    readonly snapshot?: string
  }[]
}

const test = suite<Context>('runs that version 0.1.0 left open')
const VECTORS = join(ROOT, 'test/vectors/0.1.0/open-runs')
const RUNS: Readonly<Record<string, RecordedRun>> = JSON.parse(readFileSync(join(VECTORS, 'runs.json'), 'utf8'))
const caller: Caller = { tenant: 'default', actor: 'local' }

test.before.each((context) => {
  context.folder = tempFolder()
  const place = (name: string): string => context.folder.file(name)
  writeFileSync(place('store.db'), gunzipSync(readFileSync(join(VECTORS, 'store.db.gz'))))
  writeFileSync(place('keys.json'), readFileSync(join(VECTORS, 'test-keys.json')), { mode: 0o600 })
  copyFileSync(join(VECTORS, 'store.db.checkpoints.json'), place('store.db.checkpoints'))
})
test.after.each(({ folder }) => folder[Symbol.dispose]())

async function withLedger(folder: TempFolder, use: (ledger: Ledger) => Promise<void>): Promise<void> {
  const { ledger, close } = await openEmbedded(folder.path)
  try {
    await use(ledger)
  } finally {
    await close()
  }
}

async function isVerified(folder: TempFolder): Promise<void> {
  const { code, stdout } = await runInProcess(['verify', '--data', folder.path, '--json'])
  assert.equal([code, JSON.parse(stdout).verdict], [0, 'VERIFIED'], stdout)
}

/** Whether the last verdict of a run says so; one under relay has no number. */
async function isByRulesOfNow(ledger: Ledger, run: string): Promise<boolean> {
  const listed = await ledger.runEvents(caller, run, { from: 0 })
  if (!listed.ok) throw new Error(listed.refusal.code)
  let [rules, isRelay]: [unknown, boolean] = [undefined, false]
  for await (const page of listed.value)
    for (const { header, data } of page) {
      if (header.type === 'RunStarted') isRelay = JSON.stringify(data.policy).includes('"relay"')
      if (header.type === 'EnvelopeRejected') rules = data.rules
    }
  return rules === (isRelay ? undefined : 2)
}

async function found(reading: ReturnType<Ledger['context']>): Promise<JsonObject> {
  const value = await reading
  if (!value.ok) throw new Error(value.refusal.code)
  return value.value
}

test('their store verifies, and each replays as then: digest for digest, step for step, context for context, snapshot for snapshot (F83)', async ({
  folder,
}) => {
  await isVerified(folder)
  await withLedger(folder, async (ledger) => {
    for (const [run, { now, events }] of Object.entries(RUNS)) {
      const listed = await ledger.runEvents(caller, run, { from: 0 })
      if (!listed.ok) throw new Error(listed.refusal.code)
      const digests: string[] = []
      for await (const page of listed.value) digests.push(...page.map(({ digest }) => digest))
      assert.equal(
        digests,
        events.map(({ digest }) => digest),
        run,
      )
      const replay = await ledger.replay(caller, run)
      if (!replay.ok) throw new Error(replay.refusal.code)
      const lines = []
      for await (const line of replay.value.lines) lines.push(line)
      assert.is(lines.pop()?.verdict, 'VERIFIED')
      assert.equal(
        lines.map(({ type, step, snapshot }) => [type, step, snapshot]),
        events.map(({ type, step, snapshot }) => [type, step, snapshot]),
        run,
      )
      for (const [revision, { contextDigest }] of events.entries()) {
        assert.is(
          (await found(ledger.context(caller, run, { revision }))).contextDigest,
          contextDigest,
          `${run} @ ${revision}`,
        )
      }
      const { step, parent, contextDigest, context } = await found(ledger.context(caller, run, {}))
      assert.equal({ step, parent, contextDigest, context }, now, run)
    }
  })
})

test('they go on: handoffs are one event, judged by the rules of now, and a refusal takes nothing back any more, of then or of now (JUD-28, JUD-82, F83)', async ({
  folder,
}) => {
  await withLedger(folder, async (ledger) => {
    const does = (run: string, command: Command) => ledger.execute(caller, run, command, {})
    const hand = (run: string, payload: JsonObject) => does(run, { kind: 'envelope', body: { agent: 'ann', payload } })
    for (const [run, { now, events }] of Object.entries(RUNS)) {
      const before = events.length - 1
      const refused = await hand(run, {})
      assert.is(refused.ok ? '' : refused.refusal.code, 'contradiction')
      const { context, step } = await found(ledger.context(caller, run, {}))
      assert.equal([context, step], [now.context, now.step], `${run}: all that was accepted stands`)
      assert.ok(await isByRulesOfNow(ledger, run), run)
      const next = { ...now.context, notes: 'now' }
      const accepted = ok(await hand(run, next))
      assert.is(accepted.revision, before + 3)
      assert.is(ok(await hand(run, next)).step, Number(accepted.step) + 1)
      await hand(run, {})
      assert.equal((await found(ledger.context(caller, run, {}))).context, next)
      const verdict = await replayed(ledger, run, caller)
      assert.is(verdict.verdict, 'VERIFIED', JSON.stringify(verdict))
    }
    const open = await ledger.run(caller, 'every-1')
    assert.is(open.ok && open.value.openCalls.length, 1)
    ok(await does('every-3', { kind: 'rollback', body: { reason: 'by hand', toStep: RUNS['every-3']?.now.step ?? 0 } }))
    assert.equal((await found(ledger.context(caller, 'every-3', {}))).context, RUNS['every-3']?.now.context)
  })
  await isVerified(folder)
  // Once more, from what now lies on the disk.
  await withLedger(folder, async (ledger) => {
    for (const run of Object.keys(RUNS)) assert.is((await replayed(ledger, run, caller)).verdict, 'VERIFIED')
  })
})

test.run()
