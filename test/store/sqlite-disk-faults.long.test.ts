import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildFaultyDisk } from '../support/disk-fault.ts'
import { bundledProgram } from '../support/program.ts'
import { tempFolder } from '../support/temp-folder.ts'
import type { DamagedRun, FaultRun, Sweep } from './disk-fault-child.ts'

const CHILD = bundledProgram('test/store/disk-fault-child.js')

const test = suite('sqlite store on a failing disk')
const folder = tempFolder()
const env = buildFaultyDisk(folder.path)
test.after(() => folder[Symbol.dispose]())

/** What holds for every run of every sweep. */
function checkPromises(run: FaultRun): void {
  const where = `operation ${run.nth}`
  const atEnd = new Set(run.atEnd)
  assert.is(atEnd.size, run.atEnd.length, `${where}: nothing is doubled`)
  assert.equal(run.reopened, run.atEnd, `${where}: what was found stays found, what was absent stays absent`)
  assert.ok(run.seen > 0, 'the faulty disk saw the store’s files')
  for (const { kind, ids } of run.answers) {
    const found = ids.filter((id) => atEnd.has(id)).length
    if (kind === 'appended') assert.is(found, ids.length, `${where}: an acknowledged append is there`)
    else if (kind === 'unknown') assert.ok(found === 0 || found === ids.length, `${where}: all or none`)
    else assert.is(found, 0, `${where}: a refused append is not there`)
    // An answer by reading must stand: what the first read after the failure says is what the file says for ever.
    if (kind === 'unknown' && run.onFailure !== undefined && run.onFailure !== null)
      assert.is(run.onFailure.filter((id) => ids.includes(id)).length, found, `${where}: settled for good`)
  }
  const failed = run.answers.some(({ kind }) => kind === 'unknown' || kind === 'unavailable')
  if (failed) assert.ok(run.wentDown, `${where}: fail-stop`)
  assert.ok(run.cameBack, `${where}: the store came back`)
}

function sweep(title: string, options: Sweep, check: (runs: readonly FaultRun[]) => void = () => undefined): void {
  const resultOf = planned(options)
  const claim = env === undefined ? test.skip : test
  claim(env === undefined ? `${title} (skipped: no C compiler here)` : title, async () => {
    const runs = (await resultOf()) as readonly FaultRun[]
    assert.is(runs.length, options.to - options.from + 1)
    for (const run of runs) checkPromises(run)
    check(runs)
  })
}

/** All sweeps run in one process: it starts with the first test that looks for its result. */
const plan: (Sweep | 'damaged')[] = []
let results: Promise<readonly unknown[]> | undefined

function planned(options: Sweep | 'damaged'): () => Promise<unknown> {
  const index = plan.push(options) - 1
  return async () => {
    results ??= runChild()
    return (await results)[index]
  }
}

async function runChild(): Promise<readonly unknown[]> {
  const args = [CHILD, mkdtempSync(folder.file('sweeps-')), JSON.stringify(plan)]
  const child = spawn(process.execPath, args, { env: env ?? {}, stdio: ['ignore', 'pipe', 'inherit'] })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = await once(child, 'close')
  assert.is(code, 0)
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as readonly unknown[]
}

function kindsOf(runs: readonly FaultRun[]): readonly string[] {
  return [...new Set(runs.flatMap(({ answers }) => answers.map(({ kind }) => kind)))].sort()
}

sweep(
  'a failed sync stops the store before the next commit could hide it',
  { op: 'sync', error: 'EIO', from: 1, to: 8 },
  (runs) => assert.equal(kindsOf(runs), ['appended', 'unknown']),
)

sweep('a disk that goes on failing keeps the store down, and it comes back by itself', {
  op: 'sync',
  error: 'EIO',
  from: 2,
  to: 3,
  times: 4,
})

sweep('a failed write is unknown, never a silent loss', { op: 'write', error: 'EIO', from: 1, to: 6 })

sweep('half a written frame is unknown, never half an append', {
  op: 'write',
  error: 'EIO',
  cutShort: true,
  from: 3,
  to: 5,
})

sweep(
  'a full disk is reported as full, with certainty, and the store goes on',
  { op: 'write', error: 'ENOSPC', from: 1, to: 6 },
  (runs) => assert.equal(kindsOf(runs), ['appended', 'full']),
)

/** A read that fails when the store opens its file again, or gives half of what was requested. */
for (const cutShort of [false, true]) {
  sweep(
    `a ${cutShort ? 'short' : 'failed'} read at reopening is not taken for damage: the store is opened again (F114)`,
    { op: 'read', error: 'EIO', cutShort, atReopening: true, from: 3, to: cutShort ? 4 : 5 },
    (runs) => {
      for (const { nth, states } of runs) assert.not.ok(states.includes('failed'), `read ${nth}: ${states}`)
    },
  )
}

sweep('a file that cannot be opened again once is opened later (F114)', {
  op: 'open',
  error: 'EIO',
  atReopening: true,
  from: 2,
  to: 4,
})

const damaged = planned('damaged')
const claim = env === undefined ? test.skip : test
claim(
  'damage that is met at three openings in a row is believed: the store has failed, and says what to do (F114)',
  async () => {
    const { states, answer } = (await damaged()) as DamagedRun
    const opened = states.map(({ state }) => state)
    assert.equal(opened, ['unavailable', 'unavailable', 'unavailable', 'failed'])
    assert.match(states.at(-1)?.detail ?? '', /damaged.*"countersign verify".*start again with a copy that verifies/)
    assert.is(answer, 'unavailable')
  },
)

sweep('a failed truncation of the log costs no acknowledged append', { op: 'truncate', error: 'EIO', from: 1, to: 2 })

test.run()
