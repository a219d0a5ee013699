/** @module Classifies errors of the driver or the server by their meaning for the write that they ended. */
import type { AppendResult } from '../event-store.ts'

const RETRY_MS = 500
export const FULL_DISK = '53100'
export const READ_ONLY = '25006'
/** The transaction was certainly rolled back, and an identical one may succeed at once (PostgreSQL, appendix A). */
const TRY_AGAIN: ReadonlySet<string> = new Set(['40001', '40P01', '23505'])

/** How a write ended that returned no result. */
export type WriteFailure =
  /** Rolled back because of another writer: retry each append on its own. */
  | { readonly kind: 'contended' }
  /** Certainly not written. */
  | { readonly kind: 'refused'; readonly result: AppendResult }
  /** The append may have been written. */
  | { readonly kind: 'lost'; readonly detail: string }

/**
 * A server that answers with an error has rolled the statement back, with these exceptions: class 08 and 57P (the connection is being closed, perhaps
 * after the commit), and any error without a code (from the socket). `sent` is false if no connection was available.
 */
export function writeFailure(error: unknown, sent: boolean): WriteFailure {
  const detail = reasonOf(error)
  const code = sqlState(error)
  if (!sent) return { kind: 'refused', result: unavailable(code === undefined ? detail : advice(code, detail)) }
  if (code === undefined || saysAway(code)) return { kind: 'lost', detail }
  if (TRY_AGAIN.has(code)) return { kind: 'contended' }
  if (code === FULL_DISK) return { kind: 'refused', result: { kind: 'full', detail: 'the disk of the server is full' } }
  return { kind: 'refused', result: unavailable(advice(code, detail)) }
}

/** The server's message, with advice if there is any. */
export function refusalDetail(error: unknown): string {
  return advice(sqlState(error) ?? '', reasonOf(error))
}

export function unavailable(detail: string): AppendResult {
  return { kind: 'unavailable', detail, retryAfterMs: RETRY_MS }
}

/** The five-character SQLSTATE; undefined for errors that are not from the server. */
export function sqlState(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** Whether the condition may pass: the server is away, starting, stopping, out of connections, or temporarily read-only. */
export function isPassing(error: unknown): boolean {
  const code = sqlState(error)
  return code === undefined || saysAway(code) || code.startsWith('53') || code === READ_ONLY
}

/** Describes the obstacle for an error that may pass. */
export function passingReason(error: unknown): string {
  const code = sqlState(error)
  const isAnswer = code !== undefined && !isAway(error)
  return isAnswer ? advice(code, reasonOf(error)) : `the server does not answer: ${reasonOf(error)}`
}

/** True for a broken connection (class 08), and for a server that stops, starts or was told to end a session (57P). */
function saysAway(code: string): boolean {
  return code.startsWith('08') || code.startsWith('57P')
}

/** Whether the error shows that no server answered: not for a server that is full or read-only, nor for an answer that took too long. */
export function isAway(error: unknown): boolean {
  const code = sqlState(error)
  if (code !== undefined) return saysAway(code)
  return !reasonOf(error).includes('timeout')
}

const NO_TLS = 'The server does not support SSL connections'
/** Error codes of OpenSSL, as passed on by Node, for a certificate that is not accepted. */
const NOT_TRUSTED = /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA$|HOSTNAME_MISMATCH$)/

/** Why no encrypted connection can be made, with advice; undefined for any other error. Waiting does not help. */
export function tlsRefusal(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.message === NO_TLS)
    return 'the server takes no TLS connections, which sslmode asks for: turn ssl on there, or say sslmode=disable'
  const code = 'code' in error ? String(error.code) : ''
  if (!NOT_TRUSTED.test(code)) return undefined
  return `the certificate of the server is not accepted (${error.message}): name that of its authority with sslrootcert, and the host by the name that it is for`
}

/** The server's message followed by advice on a permanent refusal; only the message for any other error. */
export function refusalWithAdvice(error: unknown): string {
  const detail = reasonOf(error)
  const what = TO_DO[sqlState(error) ?? '']
  return what === undefined ? detail : `${detail}: ${what}`
}

/** Advice by SQLSTATE (PostgreSQL, appendix A). */
const TO_DO: Readonly<Record<string, string>> = {
  '3D000': "mend its name in the URL, or make it first, with CREATE DATABASE … ENCODING 'UTF8'",
  '28P01': 'mend user and password in the URL',
  '28000': 'mend the user in the URL, or let it in (pg_hba.conf, ALTER ROLE … LOGIN)',
  '42704': "make the role first, with CREATE ROLE … LOGIN PASSWORD '…', then run the command again",
  '42501':
    '"countersign store init" wants a role that may create a schema in the database, and after that the owner of the schema',
}

function advice(code: string, detail: string): string {
  if (code === READ_ONLY) return 'the server is read-only: connect to the primary, or wait for its promotion'
  if (code === '53300')
    return 'the server has no connection left for the ledger: raise max_connections or lower the others'
  if (code === '42501')
    return `the role may not append (${detail}): run "countersign store init" as the owner, with --writer`
  return detail
}

export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0])
  return error instanceof Error && error.message !== '' ? error.message : String(error)
}
