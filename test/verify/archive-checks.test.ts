import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream, runStream } from '../../schemas/names.ts'
import { ArchiveChecks, type FoundArchive } from '../../src/verify/archive-checks.ts'

const test = suite('checks of archived bodies')

const digest = `sha256:${'0'.repeat(64)}`
const nameOf = (number: number): string => `acme-${String(number).padStart(6, '0')}`

/** Takes the record of an archive with one event of one run, and its row. */
function taken(checks: ArchiveChecks, number: number, { exists }: { readonly exists: boolean }): void {
  const run = `r${number}`
  const body = {
    ...{ v: 1, archive: nameOf(number), digest, bytes: 10, events: 1, runs: [{ run, events: 1 }] },
    ...{ classes: ['all'], treeSize: null, root: null },
  }
  const place = { tenant: 'acme', stream: ledgerStream('acme') }
  checks.takeRecord('RunsArchived', place, JSON.stringify(body))
  checks.takeMoved({ archive: { name: nameOf(number), exists }, stream: runStream('acme', run), revision: 0 })
}

const ARCHIVES = 150

for (const [what, code, found] of [
  ['is on no record', 'archive-unrecorded', { digest, bytes: 10 }],
  ['is another', 'archive-damaged', { digest, bytes: 11 }],
] as const) {
  test(`many archives that are away do not hide one that ${what} (LIFE-55)`, async () => {
    const checks = new ArchiveChecks()
    for (let number = 1; number <= ARCHIVES; number += 1) taken(checks, number, { exists: false })
    const [name, exists] = [nameOf(ARCHIVES + 1), true]
    if (code === 'archive-damaged') taken(checks, ARCHIVES + 1, { exists })
    else checks.takeMoved({ archive: { name, exists }, stream: runStream('acme', 'last'), revision: 0 })
    const find = async (archive: string): Promise<FoundArchive> => (archive === name ? found : 'missing')
    const { faults } = await checks.finish(find)
    assert.is(faults.filter((fault) => fault.code === code).length, 1)
    assert.ok(faults.some((fault) => fault.code === 'archive-missing'))
  })
}

test('a file that goes away while a store is verified was not compared, and is named (LIFE-56)', async () => {
  const checks = new ArchiveChecks()
  taken(checks, 1, { exists: true })
  const { faults } = await checks.finish(async () => 'missing')
  assert.equal(
    faults.map(({ code }) => code),
    ['archive-missing'],
  )
})

test('of archives on no record, as many as events of the ledger are acknowledged as lost may have been recorded by these (LOG-66)', async () => {
  const checks = new ArchiveChecks()
  checks.takeLost('acme')
  checks.takeLost('beta')
  for (const number of [1, 2])
    checks.takeMoved({
      archive: { name: nameOf(number), exists: true },
      stream: runStream('acme', `r${number}`),
      revision: 0,
    })
  const { archived, faults } = await checks.finish(async () => ({ digest, bytes: 10 }))
  assert.equal(faults.map(({ code }) => code).sort(), ['archive-record-lost', 'archive-unrecorded'])
  assert.equal(archived, [{ archive: nameOf(1), events: 1 }])
})

test.run()
