import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Row } from '../../bench/report.ts'
import { runCommand } from '../support/command-line.ts'

const test = suite('bench')

/** It takes less than a minute; a busy machine, several. */
const MAX_MS = 15 * 60_000
const PROGRAM = fileURLToPath(new URL('../../bench/main.js', import.meta.url))
/** What is measured where no other program is needed. */
const ALWAYS = [
  'inproc',
  'P6',
  'P7 fast',
  'P8 hashes',
  'P11 fold',
  'P11 export',
  'P18',
  'P19 equal',
  'P20 pair',
  'archive hold 20k',
  'S1 p50',
  'mcp read p50',
  'mcp http p50',
  'worker grant p50',
  ...(existsSync('/proc/self/stat') ? ['worker idle'] : []),
]

interface Report {
  readonly rows: readonly Row[]
  readonly broken: readonly string[]
  readonly verdict: string
}

test('the whole bench runs, and each of its rows has a figure and a bound that it is held to', async () => {
  const { code, stdout, stderr } = await runCommand([process.execPath, PROGRAM, '--quick', '--json'], { maxMs: MAX_MS })
  assert.is(code, 0, stderr)
  const { rows, broken, verdict } = JSON.parse(stdout) as Report
  assert.equal(broken, [], verdict)
  for (const { id, numerator, ratio = 0, floor, target } of rows) {
    assert.ok(Number.isFinite(numerator) && Number.isFinite(ratio), `${id}: ${numerator}, ${ratio}`)
    assert.ok((floor ?? target) !== undefined, `${id} decides nothing`)
  }
  for (const id of ALWAYS)
    assert.ok(
      rows.some((row) => row.id === id),
      `${id} is missing: ${stderr}`,
    )
})

test.run()
