/** @module Rule `ungrounded`: an entity, or a number of an entity or fact, that occurs in nothing the run has recorded. */
import { sortedKeys } from '../../../projections/set-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, type Token } from '../../../schemas/json-pointer.ts'
import type { Paced, Pauses } from '../paced.ts'
import { addEvidence, type Evidence, emptyEvidence, groundOf, LOOKUP_MAX_CHARS, type LookupBudget } from './evidence.ts'
import { addFinding, type Report } from './report.ts'

interface Search {
  readonly evidence: Evidence
  readonly pauses: Pauses
  readonly budget: LookupBudget
  readonly before: JsonObject
  readonly report: Report
  readonly severity: 'warning' | 'error'
  readonly place: Token[]
  /** Made from `before` when first needed: what is carried along was judged when it came. */
  context: Evidence | undefined
  isTruncated: boolean
}

export function* checkGrounds(
  { before, after }: { readonly before: JsonObject; readonly after: JsonObject },
  by: { readonly evidence: Evidence; readonly mode: 'warn' | 'reject'; readonly pauses: Pauses },
  report: Report,
): Paced<void> {
  const search: Search = {
    evidence: by.evidence,
    pauses: by.pauses,
    budget: { charsLeft: LOOKUP_MAX_CHARS },
    before,
    report,
    severity: by.mode === 'reject' ? 'error' : 'warning',
    place: [],
    context: undefined,
    isTruncated: by.evidence.truncated,
  }
  for (const key of ['entities', 'facts'] as const) {
    if (!Object.hasOwn(after, key)) continue
    search.place.push(key)
    yield* searchValue(search, after[key] as Json, key === 'entities')
    search.place.pop()
  }
  if (!search.isTruncated) return
  const message = 'more was recorded than can be searched: what is grounded was not judged'
  addFinding(report, { rule: 'evidence-truncated', severity: 'warning', path: '', message })
}

/** Strings under `facts` are prose: only names and numbers can be looked up. */
function* searchValue(search: Search, value: Json, withStrings: boolean): Paced<void> {
  if (typeof value === 'number' || (withStrings && typeof value === 'string')) yield* searchLeaf(search, value)
  else if (Array.isArray(value)) {
    for (const [place, member] of value.entries())
      yield* searchMember(search, place, { member: member as Json, withStrings })
  } else if (isJsonObject(value)) {
    for (const key of sortedKeys(value)) yield* searchMember(search, key, { member: value[key] as Json, withStrings })
  }
}

function* searchMember(
  search: Search,
  token: Token,
  { member, withStrings }: { member: Json; withStrings: boolean },
): Paced<void> {
  search.place.push(token)
  yield* searchValue(search, member, withStrings)
  search.place.pop()
}

function* searchLeaf(search: Search, leaf: string | number): Paced<void> {
  if (search.isTruncated) return
  const grounded = yield* groundOf(search.evidence, leaf, search)
  if (grounded === true) return
  search.context ??= addEvidence(emptyEvidence(), search.before)
  const isKnown = yield* groundOf(search.context, leaf, search)
  if (isKnown === true) return
  if (grounded === 'truncated' || isKnown === 'truncated') {
    search.isTruncated = true
    return
  }
  addFinding(search.report, {
    rule: 'ungrounded',
    severity: search.severity,
    path: formatPointer(search.place),
    after: leaf,
    message: 'occurs in no earlier context, input or tool result of this run',
  })
}
