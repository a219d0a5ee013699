import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { nodeFault, OLDEST_NODE } from '../../src/resources/node-version.ts'
import { BIN } from '../support/command-line.ts'
import { ROOT } from '../support/source-root.ts'

const test = suite('the oldest Node that this runs on')

test('is the one that the package names', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  assert.is(engines.node, `>=${OLDEST_NODE}`)
  for (const version of ['22.19.0', '22.20.1', '23.0.0', '24.21.0', '100.0.0'])
    assert.is(nodeFault(version), undefined, version)
  for (const version of ['18.20.8', '20.20.2', '22.18.9', '22.2.19'])
    assert.match(nodeFault(version) ?? '', new RegExp(`^Node 22\\.19\\.0 .*this is ${version}`), version)
})

/** Of the machine, or of tools/other-nodes. */
const PLACES = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))
const OLDER = [...PLACES, join(ROOT, 'tools/other-nodes/node_modules/node-20/bin/node')].find(
  (file) => existsSync(file) && nodeFault(versionOf(file)) !== undefined,
)

function versionOf(file: string): string {
  return spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1)
}

const PROGRAMS = [
  [BIN, 'verify', '--data', 'nowhere'],
  [join(ROOT, 'dist/src/cli/main.js'), 'serve'],
  [join(ROOT, 'dist/bench/main.js')],
  [join(ROOT, 'scripts/test.mjs')],
  [join(ROOT, 'scripts/test-stores.mjs')],
]

if (OLDER === undefined) {
  console.log('skipped: no older Node is at hand (npm ci --prefix tools/other-nodes)')
} else {
  const older = OLDER
  for (const [program = '', ...args] of PROGRAMS) {
    test(`under an older one, ${program.slice(ROOT.length)} says in one line what is needed, and does nothing`, () => {
      const { status, signal, stdout, stderr } = spawnSync(older, [program, ...args], { encoding: 'utf8' })
      assert.equal([status, signal, stdout], [2, null, ''], stderr)
      assert.match(stderr, /^[^\n]*22\.19\.0[^\n]*(newer|needed)[^\n]*\n$/)
    })
  }

  test('under an older one, a program that opens a ledger gets an error that says what is needed', () => {
    const { status, signal, stderr } = spawnSync(older, [join(ROOT, 'dist/examples/first.js')], { encoding: 'utf8' })
    assert.equal([status, signal], [1, null], stderr)
    assert.match(stderr, /Node 22\.19\.0 or newer is needed/)
  })
}

test.run()
