/** What says the same is judged the same: wrapped, beside something else, in another order, in another spelling of Unicode, twice. */
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { evidenceOfLine } from '../../../../src/domain/validator/line-evidence.ts'
import type { Supersession } from '../../../../src/domain/validator/supersedes.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { rounds } from '../../../support/rounds.ts'
import { ALL_SETS } from './all-sets.ts'

const test = suite('judgement: what says the same')

interface Handoff {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly supersedes?: readonly Supersession[]
  readonly evidence?: Json
}

/** Those of the project; and sets that lie beside a checkout, where they do. */
const SETS: readonly (readonly Handoff[])[] = [
  readFileSync('test/vectors/validator/handoffs.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Handoff),
  ...ALL_SETS.values(),
]
/** All of them in the long suite; one of four in the short one, which one is the seed's. */
const EVERY = rounds(4, 1)
const FIRST = Number(process.env.COUNTERSIGN_TEST_SEED ?? 1) % EVERY
const HANDOFFS = SETS.flat().filter((_, i) => i % EVERY === FIRST)
console.log(`${HANDOFFS.length} of ${SETS.flat().length} handoffs of ${SETS.length} sets, each under three policies`)
const POLICIES: readonly PolicyObject[] = [{}, { suspect: 'refuse' }, { ungrounded: 'reject' }]

interface Said {
  readonly verdict: string
  readonly findings: readonly string[]
}

function judge({ before, after, supersedes, evidence }: Handoff, policy: PolicyObject, prefix = ''): Said {
  const known = evidence === undefined ? {} : { evidence: evidenceOfLine(evidence) }
  const { verdict, confidence, findings } = validateHandoff({
    ...{ before, after, policy: resolvePolicy(policy), ...known },
    ...(supersedes !== undefined && { supersedes }),
  })
  const said = findings.map(({ rule, severity, suspect = false, path }) => {
    return `${rule} ${severity} ${suspect} ${path.startsWith(prefix) ? path.slice(prefix.length) : path}`.normalize(
      'NFC',
    )
  })
  return { verdict: `${verdict} ${confidence}`, findings: said.sort() }
}

/** Each handoff whose twin is judged otherwise. */
function differing(twin: (handoff: Handoff) => Handoff | undefined, prefix = ''): readonly unknown[] {
  return POLICIES.flatMap((policy) =>
    HANDOFFS.flatMap((handoff) => {
      const other = twin(handoff)
      if (other === undefined) return []
      const [one, two] = [judge(handoff, policy), judge(other, policy, prefix)]
      return JSON.stringify(one) === JSON.stringify(two) ? [] : [{ policy, handoff, one, two }]
    }),
  )
}

function mapped(
  handoff: Handoff,
  change: (context: JsonObject) => JsonObject,
  path: (path: string) => string,
): Handoff {
  const supersedes = handoff.supersedes?.map((each) => ({ ...each, path: path(each.path) }))
  const [before, after] = [change(handoff.before), change(handoff.after)]
  return { ...handoff, before, after, ...(supersedes !== undefined && { supersedes }) }
}

for (const keys of [['output'], ['anything'], ['state', 'output']]) {
  const prefix = `/${keys.join('/')}`
  test(`wrapped in ${keys.join(' and ')}: the same verdict, the same findings one level down (JUD-49)`, () => {
    const wrap = (context: JsonObject): JsonObject =>
      keys.toReversed().reduce<JsonObject>((inner, key) => ({ [key]: inner }), context)
    const below = (path: string): string => (path === '' || path.startsWith('/') ? prefix + path : path)
    const twin = (handoff: Handoff): Handoff => {
      const { before } = handoff
      return { ...mapped(handoff, wrap, below), before: Object.keys(before).length === 0 ? before : wrap(before) }
    }
    assert.equal(differing(twin, prefix), [])
  })
}

test('members of objects in another order', () => {
  const turned = (value: Json): Json => {
    if (Array.isArray(value)) return value.map((each) => turned(each as Json))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, member]) => [key, turned(member)]),
    )
  }
  assert.equal(
    differing((handoff) => mapped(handoff, (context) => turned(context) as JsonObject, String)),
    [],
  )
})

test('a key that has nothing to do with it, established and kept', () => {
  const beside = (context: JsonObject): JsonObject => ({ ...context, zz_unrelated: 'qv' })
  const twin = (handoff: Handoff): Handoff | undefined =>
    Object.keys(handoff.before).length === 0 ? undefined : mapped(handoff, beside, String)
  // One more leaf is kept, and something is protected.
  const judged = ({ verdict, findings }: Said): string => {
    return [verdict.split(' ')[0], ...findings.filter((each) => !each.startsWith('nothing-protected'))].join('\n')
  }
  const changed = differing(twin) as readonly { readonly one: Said; readonly two: Said }[]
  assert.equal(
    changed.filter(({ one, two }) => judged(one) !== judged(two)),
    [],
  )
})

test('a key that has nothing to do with it, under another name', () => {
  const beside =
    (key: string) =>
    (context: JsonObject): JsonObject => ({ ...context, [key]: { kept: 'qv' } })
  const changed = HANDOFFS.flatMap((handoff) => {
    if (Object.keys(handoff.before).length === 0) return []
    return POLICIES.flatMap((policy) => {
      const [one, two] = ['zz_unrelated', 'yy_of_no_matter'].map((key) =>
        judge(mapped(handoff, beside(key), String), policy),
      )
      return JSON.stringify(one) === JSON.stringify(two) ? [] : [{ policy, handoff, one, two }]
    })
  })
  assert.equal(changed, [])
})

test('the same text in another normal form of Unicode (NFD)', () => {
  const decomposed = (value: Json): Json => JSON.parse(JSON.stringify(value).normalize('NFD')) as Json
  assert.equal(
    differing((handoff) =>
      mapped(
        handoff,
        (context) => decomposed(context) as JsonObject,
        (path) => path.normalize('NFD'),
      ),
    ),
    [],
  )
})

test('asked twice', () => {
  assert.equal(
    differing((handoff) => structuredClone(handoff)),
    [],
  )
})

test.run()
