import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { VERIFIER_FILE } from '../../src/verify/bundle/own-file.ts'
import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { findProgram } from '../support/find-program.ts'
import { TEST_SEED } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { ROOT } from '../support/source-root.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { isKnown, NOT_YET } from './truth-oracle-not-yet.ts'
import { CLASSES, runRounds, type Tally, tallyLines } from './truth-oracle-rounds.ts'

const test = suite('truth oracle')

/** One round of all classes in any case; another one begins so early only. */
const AGAIN_BEFORE_MS = rounds(15_000, 15_000, 600_000)
/** So many bundles are checked by the built verifier as well: a process each. */
const BY_PROCESS = 8

const kept = tempFolder()
test.after(() => kept[Symbol.dispose]())

test('after any damage no exit claims more than is true, but for those that are known to (A350, A549, LOG-50, LOG-81)', async () => {
  const begunMs = performance.now()
  const tally = await runRounds({
    ...{ seed: TEST_SEED, classes: CLASSES, keep: kept.path },
    goesOn: (_, rounds) => rounds === 0 || performance.now() - begunMs < AGAIN_BEFORE_MS,
  })
  const again = `COUNTERSIGN_TEST_SEED=${TEST_SEED} node scripts/test.mjs --long truth-oracle`
  console.log([again, ...tallyLines(tally)].join('\n'))
  assert.equal(newIn(tally), [], again)
  assert.equal(goneFrom(tally), [], `${again}: these claim no more than is true now: take them out of NOT_YET`)
})

/** Of stores in files and, in turn, of another share of the classes: each beside a server in a process of its own. */
const BY_SERVER = rounds(3, 3, 12)

test('beside a server in a process of its own no exit claims more than is true either (A350)', async () => {
  const [none = '', ...others] = CLASSES
  const from = TEST_SEED % others.length
  const classes = [none, ...others.slice(from), ...others.slice(0, from)].slice(0, BY_SERVER + 1)
  const tally = await runRounds({ seed: TEST_SEED, by: 'process', classes, goesOn: (_, done) => done === 0 })
  console.log(tallyLines(tally).join('\n'))
  assert.equal(newIn(tally), [], `node scripts/soak-truth.mjs --process --seed ${TEST_SEED} --cases 1`)
})

/** Also damages that no other exit comes upon before. */
const ASKED_FIRST = ['event forged', 'last event deleted, behind the checkpoint', 'body changed, behind the checkpoint']

test('an exit that is asked first claims no more than those asked after others (A350, A501)', async () => {
  for (const only of ['query: spend', 'query: events', 'write']) {
    const tally = await runRounds({ seed: TEST_SEED, only, classes: ASKED_FIRST, goesOn: (_, done) => done === 0 })
    assert.ok(tally.asked >= ASKED_FIRST.length)
    assert.equal(newIn(tally), [], `node scripts/soak-truth.mjs --only '${only}' --seed ${TEST_SEED} --cases 1`)
  }
})

function newIn({ claims }: Tally): readonly string[] {
  return [...claims].flatMap(([damage, kinds]) =>
    [...kinds]
      .filter(([kind]) => !isKnown('sqlite', damage, kind))
      .map(
        ([, { claim, seed }]) =>
          `${damage}: ${claim} (node scripts/soak-truth.mjs --seed ${seed} --cases 1 --class '${damage}')`,
      ),
  )
}

function goneFrom({ claims }: Tally): readonly string[] {
  return Object.entries(NOT_YET.sqlite).flatMap(([damage, { exits, sometimes = [] }]) =>
    exits
      .filter((kind) => !sometimes.includes(kind) && claims.get(damage)?.has(kind) !== true)
      .map((kind) => `${damage}: ${kind}`),
  )
}

const python = findProgram(['python3'])
const CHECKER = join(ROOT, 'test/support/check_evidence.py')

interface Checked {
  readonly file: string
  readonly holds: boolean
  readonly faults: readonly string[]
}

function checkedInPython(files: readonly string[]): readonly Checked[] {
  const { stdout, stderr } = spawnSync(python ?? '', [CHECKER, ...files], { encoding: 'utf8', maxBuffer: 2 ** 28 })
  assert.is(stderr, '')
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const filesThat = (fits: (name: string) => boolean): readonly string[] =>
  readdirSync(kept.path)
    .filter(fits)
    .map((name) => join(kept.path, name))

const inPython = python === undefined ? test.skip : test
if (python === undefined) console.log('skipped: there is no python3 for the second checker')

inPython(
  'whatever bundle verifies, a checker of another making finds whole in its bytes; what is sound it finds so (A351)',
  () => {
    const bundles = filesThat((name) => name.endsWith('.tar'))
    assert.ok(bundles.length > 0)
    const wrong = checkedInPython(bundles)
      .filter(({ holds }) => !holds)
      // Without a key a bundle is never VERIFIED: what fits together is consistent.
      .filter(({ file }) => /^(?:VERIFIED|CONSISTENT)/.test(verifyBundle(file).verdict))
    assert.equal(wrong, [])
    const sound = filesThat((name) => new RegExp(`^\\d+-${CLASSES.indexOf('none')}-`).test(name))
    assert.ok(sound.some((file) => file.endsWith('.jsonl')))
    assert.equal(
      checkedInPython(sound).filter(({ holds }) => !holds),
      [],
    )
  },
)

inPython('a body or a header that was changed in an export is found by the checker of another making (A351)', () => {
  const of = (damage: string): readonly string[] =>
    filesThat((name) => new RegExp(`^\\d+-${CLASSES.indexOf(damage)}-export-jsonl`).test(name))
  for (const damage of ['body changed, covered', 'header changed, covered']) {
    const found = of(damage).length === 0 ? [] : checkedInPython(of(damage))
    assert.equal(
      found.filter(({ holds }) => holds),
      [],
      damage,
    )
  }
})

test('the verifier that is in each bundle, as a program, comes to the verdict of its modules (A351)', () => {
  const bundles = filesThat((name) => name.endsWith('.tar'))
  const step = Math.ceil(bundles.length / BY_PROCESS)
  for (const file of bundles.filter((_, at) => at % step === 0)) {
    const { stdout } = spawnSync(process.execPath, [VERIFIER_FILE.pathname, file, '--json'], { encoding: 'utf8' })
    assert.is(JSON.parse(stdout).verdict, verifyBundle(file).verdict, file)
  }
})

test.run()
