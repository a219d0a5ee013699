/** @module The outcome of an event in OCSF attributes: status, response of the API, and under `unmapped` what no released version supports. */
import { rulesOf } from '../../projections/event-facts.ts'
import { declarationOf } from '../../schemas/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../schemas/json.ts'
import type { Verdict } from '../../schemas/verdict.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { textOf } from './format.ts'

/** Limit for findings that a status describes; `raw_data` contains all of them. */
const FINDINGS_MAX = 10

/** A mutable object. */
type Writable = { [name: string]: Json }

/** `code`: the rule or code that decided. `detail`: the reason as text. */
export function statusDetailOf({ header, data }: Pick<LedgerEvent, 'header' | 'data'>): {
  readonly code: string | undefined
  readonly detail: string | undefined
} {
  const error = errorIn(data)
  const code = rulesOf(declarationOf(header.type), data)[0] ?? error?.code
  const detail = textOf(data, 'detail') ?? error?.message ?? findingsText(data) ?? textOf(data, 'reason')
  return { code, detail }
}

/** The error of a call, a compensation or a run, or the refusal of a request. */
export function responseOf(data: JsonObject): JsonObject | undefined {
  const { code, message } = errorIn(data) ?? {}
  if (code === undefined && message === undefined) return undefined
  return { ...(code !== undefined && { error: code }), ...(message !== undefined && { error_message: message }) }
}

/** Values for which OCSF has no attribute. */
export function unmappedOf(data: JsonObject, verdict: Verdict | null): JsonObject | undefined {
  const unmapped: Writable = {}
  if (verdict !== null) unmapped.verdict = verdict
  if (data.usage !== undefined && isJsonObject(data.usage)) {
    const [cost, currency] = [textOf(data.usage, 'cost'), textOf(data.usage, 'currency')]
    if (cost !== undefined) unmapped.cost = cost
    if (currency !== undefined) unmapped.currency = currency
  }
  const findings = findingsIn(data).map(({ rule, severity, path }) => ({
    ...(rule !== undefined && { rule }),
    ...(severity !== undefined && { severity }),
    ...(path !== undefined && { path }),
  }))
  if (findings.length > 0) unmapped.findings = findings
  return Object.keys(unmapped).length === 0 ? undefined : unmapped
}

interface Failure {
  readonly code?: string | undefined
  readonly message?: string | undefined
}

function errorIn(data: JsonObject): Failure | undefined {
  const { error } = data
  if (error !== undefined && isJsonObject(error))
    return { code: textOf(error, 'code'), message: textOf(error, 'message') }
  const code = textOf(data, 'code')
  return code === undefined ? undefined : { code, message: textOf(data, 'detail') }
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
