/** @module Validation rules for the policy in an agent's manifest: the ledger's own, without its schema library, so that a faulty one is refused alike live, on resume and on replay (RUN-233). */
import { parseExpression } from '../../../schemas/expression.ts'
import type { PlacePolicy } from '../../../schemas/place-policy.ts'
import {
  APPROVAL_ROLES_MAX,
  APPROVAL_RULES_MAX,
  INVARIANTS_MAX,
  isPlacePointer,
  LIST_KEYS_MAX,
  PLACES_MAX,
  POLICY_MAX_CHARS,
  SUPERSEDE_REASON_MAX_CHARS,
  SUPERSEDE_ROLES_MAX,
  TRUSTED_TOOLS_MAX,
} from '../../../schemas/value-forms.ts'
import { APPROVE } from '../calls/check-tool.ts'
import { aName, group, groups, names, type OptionRules, oneOf, type Rule, within } from '../option-rules.ts'

type Member<Name extends keyof PlacePolicy> = NonNullable<PlacePolicy[Name]>
type Invariant = Member<'invariants'>[number]
type ApprovalRule = Member<'approve'>[number]
type Supersede = Member<'supersede'>
type Tolerance = Member<'tolerance'>[string]

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isPlace = (value: unknown): boolean => typeof value === 'string' && isPlacePointer(value)

const A_PLACE = 'a JSON Pointer below the whole context, such as "/orders/*/total"'

const places: Rule = (value) => {
  if (!Array.isArray(value) || value.length > PLACES_MAX) return `a list of at most ${PLACES_MAX} JSON Pointers`
  const at = value.findIndex((each) => !isPlace(each))
  return at === -1 ? undefined : { inside: `entry ${at} is ${A_PLACE}` }
}

/** An object of places, each with a value. */
const byPlace =
  (judge: Rule): Rule =>
  (value) => {
    if (!isObject(value)) return 'an object whose members are named by JSON Pointers'
    const entries = Object.entries(value)
    if (entries.length > PLACES_MAX) return `at most ${PLACES_MAX} places`
    for (const [place, each] of entries) {
      if (!isPlace(place)) return { inside: `${JSON.stringify(place)} is not ${A_PLACE}` }
      const fault = judge(each)
      if (fault !== undefined)
        return { inside: `${place}: ${typeof fault === 'string' ? `takes ${fault}` : fault.inside}` }
    }
    return undefined
  }

const atLeastOne =
  (rule: Rule, expected: string): Rule =>
  (value) =>
    Array.isArray(value) && value.length === 0 ? expected : rule(value)

const kindOfList = oneOf('sequence', 'set', 'bag')
const keyed = group({ key: atLeastOne(names(LIST_KEYS_MAX), 'one name at least') }, ['key'])
const listRule: Rule = (value) => {
  if (kindOfList(value) === undefined || (isObject(value) && keyed(value) === undefined)) return undefined
  return `"sequence", "set", "bag", or { key: [1 to ${LIST_KEYS_MAX} names of members] }`
}

const from0 =
  (most: number): Rule =>
  (value) =>
    typeof value === 'number' && value >= 0 && value <= most && Number.isFinite(value)
      ? undefined
      : most === 1
        ? 'a number from 0 to 1'
        : 'a number, 0 or more'

const TOLERANCE: OptionRules<Tolerance> = {
  absolute: from0(Number.MAX_VALUE),
  relative: from0(Number.MAX_VALUE),
}
const tolerance: Rule = (value) => {
  if (isObject(value) && !Object.values(value).some((each) => each !== undefined)) return 'absolute or relative'
  return group(TOLERANCE)(value)
}

const expression: Rule = (value) => {
  const example = 'a condition over before and after, such as "after.total >= 0"'
  if (typeof value !== 'string' || value === '') return example
  const parsed = parseExpression(value)
  return parsed.ok ? undefined : `${example} (${parsed.message})`
}
const INVARIANT: OptionRules<Invariant> = { name: aName, expression }

const SUPERSEDE: OptionRules<Supersede> = {
  roles: names(SUPERSEDE_ROLES_MAX),
  reasonMinChars: within(1, SUPERSEDE_REASON_MAX_CHARS),
  never: places,
}

const untrusted = group({ tool: aName, untrusted: (value: unknown) => (value === true ? undefined : 'true') }, [
  'tool',
  'untrusted',
])
const moving = group({ tool: aName, moves: places }, ['tool', 'moves'])
const evidence: Rule = (value) => {
  const isList = Array.isArray(value) && value.length <= TRUSTED_TOOLS_MAX
  const isFit = isList && value.every((each) => untrusted(each) === undefined || moving(each) === undefined)
  return isFit
    ? undefined
    : `a list of at most ${TRUSTED_TOOLS_MAX} of { tool, untrusted: true } or { tool, moves: [places] }`
}

const APPROVAL_RULE: OptionRules<ApprovalRule> = {
  ...APPROVE,
  tools: atLeastOne(names(APPROVAL_ROLES_MAX), 'one tool at least'),
}

const warned = oneOf('off', 'warn', 'reject')

const PLACE_POLICY: OptionRules<PlacePolicy> = {
  lists: byPlace(listRule),
  monotonic: byPlace(oneOf('up', 'down')),
  tolerance: byPlace(tolerance),
  immutable: places,
  invariants: groups(INVARIANTS_MAX, INVARIANT, ['name', 'expression']),
  supersede: group(SUPERSEDE),
  minConfidence: from0(1),
  restated: oneOf('off', 'warn', 'sure', 'reject'),
  ungrounded: warned,
  judge: oneOf('warn', 'reject'),
  overshoot: oneOf('record', 'refuse'),
  evidence,
  suspect: oneOf('record', 'hold', 'refuse'),
  declare: oneOf('reasoned', 'none'),
  enforce: oneOf('record', 'refuse'),
  approve: groups(APPROVAL_RULES_MAX, APPROVAL_RULE),
}

/** The policy of a manifest. */
export const placePolicy: Rule = (value) => {
  const fault = group(PLACE_POLICY)(value)
  if (fault !== undefined) return fault
  return JSON.stringify(value).length <= POLICY_MAX_CHARS ? undefined : `at most ${POLICY_MAX_CHARS} characters of JSON`
}
