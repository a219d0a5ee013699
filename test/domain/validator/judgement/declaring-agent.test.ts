/** An agent that declares as moving whatever it is refused for: how many right refusals that silences. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Finding } from '../../../../schemas/finding.ts'
import type { Declaration, Move } from '../../../../schemas/place-policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { evidenceOfLine } from '../../../../src/domain/validator/line-evidence.ts'
import { type HandoffInput, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { ALL_SETS } from './all-sets.ts'
import type { Labelled } from './confusion.ts'

const test = suite('judgement: an agent that declares whatever it is refused for')

const TRIES = 3
const SILENCED_MAX = 0.05
/** Each kind that an agent can declare with nothing but a place. */
const KINDS = ['counter', 'clock', 'gauge', 'cursor', 'done', 'log', 'text'] as const satisfies readonly Move['as'][]

type Answer = (finding: Finding) => Omit<Declaration, 'reason'> | undefined

/** Takes what the refusal offers. */
const offered: Answer = ({ declare }) => declare

const declaredAs =
  (as: Move['as']): Answer =>
  ({ rule, path }) =>
    rule === 'contradicted' ? { path, as } : undefined

/** Whether the handoff is accepted once the agent has declared what it was refused for, several times over. */
function isSilenced(input: HandoffInput, answer: Answer): boolean {
  let moves: readonly Declaration[] = []
  for (let tried = 0; tried < TRIES; tried++) {
    const { verdict, findings } = validateHandoff({ ...input, moves })
    if (verdict === 'accept') return true
    const errors = findings.filter(({ severity }) => severity === 'error')
    const more = errors.flatMap((finding) => answer(finding) ?? [])
    if (more.length === 0) return false
    moves = [...moves, ...more.map((move) => ({ ...move, reason: 'it is of my own books' }))].slice(0, 64)
  }
  return validateHandoff({ ...input, moves }).verdict === 'accept'
}

/** A spoilt handoff under the strict policy; what it spoils was established by another agent. */
function inputOf({ before, after, supersedes, evidence }: Labelled): HandoffInput {
  return {
    ...{ before, after, policy: resolvePolicy({ suspect: 'refuse' }), agent: 'a', establishedBy: () => 'b' },
    ...(supersedes !== undefined && { supersedes }),
    ...(evidence !== undefined && { evidence: evidenceOfLine(evidence) }),
  }
}

test('of the right refusals of what another agent established at most 5 % are silenced by declarations, and none by those that are offered (JUD-101)', () => {
  let [refused, byOffers, byAny] = [0, 0, 0]
  for (const [name, set] of ALL_SETS) {
    const inputs = set.filter(({ label, kind }) => label === 'reject' && !kind.startsWith('broken')).map(inputOf)
    const right = inputs.filter((input) => validateHandoff(input).verdict === 'reject')
    const silenced = right.filter((input) => isSilenced(input, offered))
    const forced = right.filter((input) => KINDS.some((as) => isSilenced(input, declaredAs(as))))
    console.log(`${name}: of ${right.length} right refusals ${silenced.length} by offers, ${forced.length} by any kind`)
    refused += right.length
    byOffers += silenced.length
    byAny += forced.length
  }
  assert.ok(refused > 500, `${refused}`)
  assert.is(byOffers, 0)
  assert.ok(byAny / refused <= SILENCED_MAX, `${byAny} of ${refused}`)
})

test('an agent may declare of its own books what it may not declare of those of another: a measure, a date, a word (JUD-101)', () => {
  const cases = [
    ['counter', { books: { amount: 150 } }, { books: { amount: 155 } }],
    ['clock', { books: { due: '2026-05-01' } }, { books: { due: '2026-06-01' } }],
    ['text', { books: { berth: 'north quay' } }, { books: { berth: 'south quay' } }],
  ] as const
  const shared = [
    ['counter', { books: { delivered: 150 } }, { books: { delivered: 155 } }],
    ['clock', { books: { updated_at: '2026-05-01' } }, { books: { updated_at: '2026-06-01' } }],
    ['text', { books: { remark: 'it was far too late' } }, { books: { remark: 'too late it was by far' } }],
    ['log', { books: { seen: ['a'] } }, { books: { seen: ['a', 'b'] } }],
  ] as const
  const verdict = (
    as: Move['as'],
    [before, after]: readonly [HandoffInput['before'], HandoffInput['after']],
    by: string,
  ) => {
    const [place] = Object.keys(before.books as object)
    const moves = [{ path: `/books/${place}`, as, reason: 'of my own books' }]
    const policy = resolvePolicy({ suspect: 'refuse' })
    return validateHandoff({ before, after, policy, agent: 'a', establishedBy: () => by, moves }).verdict
  }
  for (const [as, before, after] of cases) {
    assert.equal([verdict(as, [before, after], 'a'), verdict(as, [before, after], 'b')], ['accept', 'reject'], as)
  }
  for (const [as, before, after] of shared) assert.is(verdict(as, [before, after], 'b'), 'accept', as)
})

test.run()
