import { spawnSync } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { buildFaultyDisk } from '../support/disk-fault.ts'
import { bundledProgram } from '../support/program.ts'
import { tempFolder } from '../support/temp-folder.ts'
import type { FileFault, FileFaultRun } from './file-faults-child.ts'

const test = suite('faults of the disk in every file of a ledger')
const CHILD = bundledProgram('test/system/file-faults-child.js')
const CHILD_MAX_MS = 600_000
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024

const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
const env = buildFaultyDisk(folder.path)
if (env === undefined) console.log('skipped: faults of the disk, there is no C compiler')
const claim = env === undefined ? test.skip : test

const FILES = ['keys.json', 'store.db.checkpoints', 'views.db', 'audit.db', 'log.db', 'store.db']
const KINDS: readonly Pick<FileFault, 'op' | 'error' | 'cutShort'>[] = [
  { op: 'open', error: 'EMFILE' },
  { op: 'read', error: 'EIO' },
  { op: 'read', error: 'EIO', cutShort: true },
  { op: 'write', error: 'ENOSPC' },
  { op: 'sync', error: 'EIO' },
]
/** One that passes, and one that stays. */
const LENGTHS = [
  { nth: 2, times: 1 },
  { nth: 1, times: 100_000 },
]
/** What to do about it stands in every line that ends a start. */
const ADVICE = /look at the disk|make room|raise the limit|limit of open files|ulimit|restore a copy|restore it/
/** Refusals that say "later", what follows from a run that could not be started then, and a log that stands still. */
const LATER =
  /: (StoreUnavailableError|DerivedFileRenewedError): |store-unavailable|store-full|: contended: |run-not-found|cannot follow the store: its file takes no writes/

function runs(when: FileFault['when']): readonly FileFaultRun[] {
  const faults: FileFault[] = FILES.flatMap((name) =>
    KINDS.flatMap((kind) => LENGTHS.map((length) => ({ ...kind, ...length, name: `/data/${name}`, when }))),
  )
  const args = [CHILD, `${folder.path}/${when}`, JSON.stringify(faults)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    env,
    encoding: 'utf8',
    timeout: CHILD_MAX_MS,
    maxBuffer: OUTPUT_MAX_BYTES,
  })
  assert.is(status, 0, stderr)
  const done = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as FileFaultRun)
  assert.is(done.length, faults.length)
  return done
}

/** What holds however the disk failed. */
function checkPromises({ fault, lost, verified, afterwards, unhealed }: FileFaultRun): void {
  const { name, op, error, nth, cutShort = false } = fault
  const where = `${op} ${nth} of ${name}: ${error}${cutShort ? ', cut short' : ''}`
  assert.equal(lost, [], where)
  assert.is(verified, '0', where)
  assert.is(afterwards, 'well', where)
  assert.equal(unhealed, [], where)
}

claim(
  'at a start each open, read, write and sync of each file may fail: it goes on, or ends with a line that names the file and says what to do (F59)',
  () => {
    const all = runs('start')
    for (const run of all) {
      checkPromises(run)
      if (run.startFailure === undefined) continue
      assert.ok(run.startFailure.includes(run.fault.name), run.startFailure)
      assert.match(run.startFailure, ADVICE)
    }
    const failed = all.filter(({ startFailure }) => startFailure !== undefined)
    assert.ok(failed.length > 10 && failed.length < all.length / 2, `${failed.length} of ${all.length}`)
  },
)

claim(
  'while it serves they refuse what needs the file, with words, and nothing else; when the disk is well the same process does everything again (F60)',
  () => {
    const all = runs('serving')
    for (const run of all) {
      checkPromises(run)
      assert.is(run.startFailure, undefined)
      for (const refusal of run.refusals) assert.match(refusal, LATER, refusal)
    }
    assert.ok(all.filter(({ refusals }) => refusals.length > 0).length > 3)
  },
)

test.run()
