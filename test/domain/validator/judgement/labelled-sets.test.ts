import { readdirSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { confusionOf, judgeLabelled, type Labelled } from './confusion.ts'
import { CARE } from './fresh/care.ts'
import { MONEY } from './fresh/money.ts'
import { WORK } from './fresh/work.ts'

const test = suite('judgement: labelled handoffs')

const DEV: readonly Labelled[] = readFileSync('test/vectors/validator/judgement.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
const FRESH: readonly Labelled[] = [...CARE, ...MONEY, ...WORK]

/** Of states that are not known nothing says which comes first. */
const UNKNOWN_STATES = ['incident/natural: service recovers', 'legal/natural: stage moves from discovery to trial']

const standard = resolvePolicy({ suspect: 'refuse' })
const policies = new Map(
  readdirSync('examples/policies').map((file) => {
    const policy = PolicyObject.parse(JSON.parse(readFileSync(`examples/policies/${file}`, 'utf8')))
    return [file.replace('.json', ''), resolvePolicy({ suspect: 'refuse', ...policy })]
  }),
)

test('the strict policy misses at most 3 % of the contradictions and refuses at most 3 % of the innocent (JUD-1)', () => {
  const { missed, refused, missedShare, refusedShare, table } = confusionOf(DEV, () => standard)
  console.log(table)
  console.log(`missed: ${missed.join('; ')}\nrefused: ${refused.join('; ')}`)
  assert.ok(missedShare <= 0.03, missed.join('\n'))
  assert.ok(refusedShare <= 0.03, refused.join('\n'))
})

test('with the policies that the domains declare nothing is missed and nothing innocent refused, claims that a failed tool succeeded included (JUD-21)', () => {
  const { missed, refused } = confusionOf(DEV, ({ domain }) => policies.get(domain) ?? standard)
  assert.equal({ missed, refused }, { missed: [], refused: UNKNOWN_STATES })
})

test('handoffs of ten other domains, written down before any rule was tried on them, are judged as they are labelled', () => {
  const { missed, refused } = confusionOf(FRESH, () => standard)
  assert.ok(FRESH.length >= 150)
  assert.equal({ missed, refused }, { missed: [], refused: ['ward: seen again', 'lawsuit: on to the hearing'] })
})

test('the verdict does not depend on the order of keys', () => {
  for (const labelled of [...DEV, ...FRESH]) {
    const { before, after } = labelled
    const turned = { ...labelled, before: turnedKeys(before), after: turnedKeys(after) } as Labelled
    const [one, other] = [judgeLabelled(labelled, standard), judgeLabelled(turned, standard)]
    assert.equal(other.findings, one.findings, labelled.name ?? labelled.why)
    assert.is(other.verdict, one.verdict)
  }
})

function turnedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turnedKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turnedKeys(member)]),
  )
}

test.run()
