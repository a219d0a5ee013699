import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../../src/compose/compose.ts'
import { silentLog } from '../../../src/ledger/effects.ts'
import type { Caller } from '../../../src/ledger/ledger.ts'
import { readSettings } from '../../../src/settings/config.ts'
import { archivesOf } from '../../../src/store/sqlite/archive-reader.ts'
import { BIN, cleanEnv, countersign, endOf, spawnTracked } from '../../support/command-line.ts'
import { bundledProgram } from '../../support/program.ts'
import { seededRandom, testSeed } from '../../support/random.ts'
import { rounds } from '../../support/rounds.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'

const test = suite('passes of retention that are killed')

const CHILD = bundledProgram('test/export/archive/retention-kill-child.js')

const caller: Caller = { tenant: 'default', actor: 'tester' }
const RUNS = 40
const KILLS = rounds(4, 4, 100)
/** Short runs and large values, so that a pass has all of its steps. */
const textOf = (run: number): string => `what only run ${run} says `.repeat(run % 10 === 0 ? 6_000 : 40)

async function seeded(data: string): Promise<void> {
  await using opened = await openLedger(readSettings({ data }, {}), silentLog)
  const { ledger } = opened
  for (let run = 0; run < RUNS; run += 1) {
    const id = `r${run}`
    const body = { id, name: 'job', input: { text: textOf(run) } }
    assert.ok((await ledger.execute(caller, id, { kind: 'start', body }, {})).ok)
    assert.ok((await ledger.execute(caller, id, { kind: 'complete', body: {} }, {})).ok)
  }
}

/** All bodies of the ledger, as a reader gets them. */
async function exported(data: string): Promise<string[]> {
  const { stdout, code } = await countersign(['export', '--data', data, '--tenant', 'default'])
  assert.is(code, 0)
  return stdout.split('\n').filter((line) => line.startsWith('{"header":') && line.includes('"stream":"run-'))
}

interface Place {
  readonly data: string
  /** The command line of a pass over it. */
  readonly pass: readonly string[]
  /** All bodies from before the pass that is killed. */
  readonly before: readonly string[]
}

async function place(folder: TempFolder, name: string): Promise<Place> {
  const [data, classes] = [folder.file(name), folder.file('classes.json')]
  writeFileSync(classes, JSON.stringify({ retention: [{ class: 'all', keep: { atMost: 0 }, action: 'archive' }] }))
  await seeded(data)
  const pass = ['retention', 'run', '--data', data, '--retention', classes]
  return { data, pass, before: await exported(data) }
}

/** What the killed pass left verifies, and the next pass finishes it. The names of the files afterwards. */
async function finishedByNext({ data, pass, before }: Place): Promise<readonly string[]> {
  const killed = await countersign(['verify', '--data', data, '--json'])
  assert.is(killed.code, 0, killed.stdout)
  const next = await countersign(pass)
  assert.is(next.code, 0, next.stderr)
  const { code, stdout } = await countersign(['verify', '--data', data, '--json'])
  assert.is(code, 0, stdout)
  assert.ok(JSON.parse(stdout).archived.length > 0)
  assert.not.ok(readFileSync(join(data, 'store.db'), 'latin1').includes('what only run 1 says'))
  assert.equal(await exported(data), before)
  return readdirSync(archivesOf(join(data, 'store.db'))).sort()
}

for (const step of ['writing', 'ending', 'checking', 'checked', 'recording', 'moving', 'moved']) {
  test(`a pass that is killed while it is ${step} leaves a store that verifies, loses no body, and the next pass finishes it (F331)`, async () => {
    using folder = tempFolder({ onDisk: true })
    const at = await place(folder, 'data')
    const child = spawnTracked([process.execPath, CHILD, at.data, step, String(RUNS)], {
      env: cleanEnv(),
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    assert.is((await endOf(child)).signal, 'SIGKILL', 'the step was reached')
    const files = await finishedByNext(at)
    // The moment before the record is the only one after which nobody knows whose file it is.
    const left = step === 'recording' ? ['default-000001.jsonl', 'default-000002.jsonl'] : ['default-000001.jsonl']
    assert.equal(files, left)
  })
}

test('whenever a pass is killed the store verifies, no body is lost, and the next pass finishes it (F331)', async () => {
  const random = seededRandom(testSeed(331))
  using folder = tempFolder({ onDisk: true })
  for (let kill = 0; kill < KILLS; kill += 1) {
    const at = await place(folder, `data-${kill}`)
    const child = spawnTracked([process.execPath, BIN, ...at.pass], { env: cleanEnv(), stdio: 'ignore' })
    const ended = endOf(child)
    // From before the store is open to after the last step, on a machine of any speed.
    const timer = setTimeout(() => child.kill('SIGKILL'), 200 + random() * 3_000)
    await ended
    clearTimeout(timer)
    await finishedByNext(at)
  }
})

test.run()
