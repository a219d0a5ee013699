import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { verifyBundle } from '../../../src/export/bundle/verifier.ts'
import { writeBundle } from '../../support/bundles.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

const test = suite('export: bundle')

test('a bundle of a run verifies under the log key, and under its own', async () => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 5)
  await home.fill('acme', 'two', 3)
  await home.fill('other', 'x', 3)
  const file = folder.file('b.tar')
  await writeBundle(home.ledger, file, { query: { run: 'one' } })
  const key = home.logs.verifierKey('acme')
  const found = verifyBundle(file, { key })
  assert.equal(found.faults, [])
  assert.equal([found.verdict, found.events, found.leaves], ['VERIFIED', 11, 18])
})

test.run()
