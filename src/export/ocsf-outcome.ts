/** @module What an event says of how it ended, in OCSF's places: status, the API's response, and under `unmapped` what no released version knows. */
import { eventFacts } from '../../projections/event-facts.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import type { Verdict } from '../../schemas/verdict.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { textOf } from './format.ts'

/** Findings that a status names in words; `raw_data` has all of them. */
const FINDINGS_MAX = 10

type Outcome = Pick<LedgerEvent, 'header' | 'data'>

/** `status_code`: the rule or the code that decided. `status_detail`: why, in words. */
export function statusDetailOf({ header, data }: Outcome): JsonObject {
  const code = eventFacts(header, data).rules[0] ?? errorIn(data).code
  const detail = textOf(data, 'detail') ?? errorIn(data).message ?? findingsText(data) ?? textOf(data, 'reason')
  return { ...(code !== undefined && { status_code: code }), ...(detail !== undefined && { status_detail: detail }) }
}

/** The error of a call, a compensation or a run, and the refusal of a request. */
export function responseOf({ data }: Outcome): JsonObject {
  const { code, message } = errorIn(data)
  if (code === undefined && message === undefined) return {}
  return {
    response: { ...(code !== undefined && { error: code }), ...(message !== undefined && { error_message: message }) },
  }
}

/** What OCSF has no attribute for. */
export function unmappedOf({ data }: Outcome, verdict: Verdict | null): JsonObject {
  const usage = isJsonObject(data.usage) ? data.usage : {}
  const [cost, currency] = [textOf(usage, 'cost'), textOf(usage, 'currency')]
  const findings = findingsIn(data).map(({ rule, severity, path }) => ({
    ...(rule !== undefined && { rule }),
    ...(severity !== undefined && { severity }),
    ...(path !== undefined && { path }),
  }))
  const found: JsonObject = {
    ...(verdict !== null && { verdict }),
    ...(cost !== undefined && { cost }),
    ...(currency !== undefined && { currency }),
    ...(findings.length > 0 && { findings }),
  }
  return Object.keys(found).length === 0 ? {} : { unmapped: found }
}

interface Failure {
  readonly code?: string | undefined
  readonly message?: string | undefined
}

function errorIn(data: JsonObject): Failure {
  const { error } = data
  if (error !== undefined && isJsonObject(error))
    return { code: textOf(error, 'code'), message: textOf(error, 'message') }
  const code = textOf(data, 'code')
  return code === undefined ? {} : { code, message: textOf(data, 'detail') }
}

function findingsIn({ findings }: JsonObject): readonly JsonObject[] {
  return Array.isArray(findings) ? findings.filter((each: Json): each is JsonObject => isJsonObject(each)) : []
}

function findingsText(data: JsonObject): string | undefined {
  const findings = findingsIn(data)
  if (findings.length === 0) return undefined
  const named = findings.slice(0, FINDINGS_MAX).map((finding) => {
    const place = `${textOf(finding, 'rule') ?? 'finding'} at ${textOf(finding, 'path') ?? '/'}`
    const message = textOf(finding, 'message')
    return message === undefined ? place : `${place}: ${message}`
  })
  const more = findings.length - named.length
  return more === 0 ? named.join('; ') : `${named.join('; ')}; and ${more} more`
}
