import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { TEST_SEED } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { SERVER_URL } from '../support/test-store.ts'
import type { OracleKind } from '../system/truth-oracle-history.ts'
import { isKnown } from '../system/truth-oracle-not-yet.ts'
import { classesOf, runRounds, tallyLines } from '../system/truth-oracle-rounds.ts'

const test = suite('truth oracle, on servers')

const SERVERS: readonly OracleKind[] = ['postgres', 'eventstoredb']
/** The server under test; each of them, where none is named. Stores in files have a suite of their own. */
const named = process.env.COUNTERSIGN_TEST_STORE ?? ''
const kinds = SERVERS.filter((kind) => named === '' || named === kind)
/** In the soak alone: on servers not every claim that is more than is true has been found yet. */
const IS_SOAK = rounds(0, 0, 1) === 1
const AGAIN_BEFORE_MS = 600_000
/** Exits that are also asked at once after a start, before any other one comes upon what is wrong. */
const ASKED_FIRST = ['write', 'query: spend']

if (kinds.length === 0) console.log(`skipped: ${named} is no server`)

for (const kind of kinds) {
  const isReal = kind === 'eventstoredb' && SERVER_URL !== ''
  if (isReal) console.log('skipped: nobody takes events from under a real server')
  const onServer = isReal || !IS_SOAK ? test.skip : test
  onServer(`after any damage to a store on ${kind} no exit claims more than is true (A350, A464)`, async () => {
    const begunMs = performance.now()
    const again = `node scripts/soak-truth.mjs --store ${kind} --seed ${TEST_SEED} --cases 1`
    const claims: { readonly known: boolean; readonly claim: string }[] = []
    for (const only of [...ASKED_FIRST, undefined]) {
      const tally = await runRounds({
        ...{ seed: TEST_SEED, kind, only, classes: classesOf(kind) },
        goesOn: (_, done) => done === 0 || (only === undefined && performance.now() - begunMs < AGAIN_BEFORE_MS),
      })
      console.log([`${again}${only === undefined ? '' : ` --only '${only}'`}`, ...tallyLines(tally)].join('\n'))
      assert.ok(tally.asked > 0)
      for (const [damage, of] of tally.claims)
        for (const [exit, { claim, seed }] of of)
          claims.push({ known: isKnown(kind, damage, exit), claim: `${damage} (seed ${seed}): ${claim}` })
    }
    console.log(`${claims.filter(({ known }) => known).length} of these kinds of claims are known on ${kind}`)
    assert.equal(
      claims.filter(({ known }) => !known),
      [],
      again,
    )
  })
}

const byNode = SERVER_URL === '' && kinds.includes('eventstoredb') ? test : test.skip
byNode(
  'an event that no log knew while it was gone, and that is put back, is in every answer or none is given (STR-53, STR-54, A547)',
  async () => {
    const [signed, followed] = ['last event deleted, signed, put back', 'last event deleted, followed, put back']
    for (const name of [signed, followed]) {
      const findings: unknown[] = []
      const tally = await runRounds({
        ...{ seed: TEST_SEED, kind: 'eventstoredb', classes: [name], goesOn: (_, done) => done === 0 },
        onCase: (found) => findings.push(...found.findings),
      })
      assert.ok(tally.asked > 0)
      assert.equal(findings, [], name)
    }
  },
)

test.run()
