/** @module Bundles that earlier builds made, as they made them: each version reads them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { reportLines } from '../../../src/verify/bundle/report-lines.ts'
import { parseKey, successionsIn } from '../../../src/verify/bundle/verifier-keys.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { ROOT } from '../../support/source-root.ts'

const test = suite('export: bundles of earlier builds')
const VECTORS = join(ROOT, 'test/vectors/bundles')
const bundle = (name: string): Buffer => gunzipSync(readFileSync(join(VECTORS, `${name}.tar.gz`)))
const lines = readFileSync(join(VECTORS, 'known-keys.txt'), 'utf8').split('\n')
const pinned = lines.flatMap((line) => parseKey(line)?.text ?? [])
const pins = { pinned, successions: successionsIn(lines) }
const checkpoint = readFileSync(join(VECTORS, 'checkpoint.txt'), 'utf8')

test('a bundle with the whole log, time-stamped, verifies with its key, with a checkpoint of then, and with the succession that came later (A91)', () => {
  const [key] = pinned
  for (const options of [{ key }, { key, checkpoint }, { key, ...pins }]) {
    const found = verifyBundle(bundle('log'), options)
    assert.equal([found.verdict, found.faults], ['VERIFIED', []])
    assert.is(/nothing shows that it was signed before/.test(reportLines(found).join('\n')), 'pinned' in options)
  }
})

test('a bundle of one run of a log whose key was rotated verifies with the old key and with the new one (A91)', () => {
  for (const key of pinned) {
    const found = verifyBundle(bundle('rotated-run'), { key, ...pins })
    assert.equal([found.verdict, found.faults], ['VERIFIED', []])
    assert.is(found.about?.succession, undefined)
  }
})

test.run()
