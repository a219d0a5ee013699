/** @module Files of policies: one policy for every tenant, or `{tenants: {NAME: policy, "*": policy}}`. `serve` and `validate` both read them here. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { Tenant } from '../../schemas/names.ts'
import { Policy, PolicyObject } from '../../schemas/policy.ts'
import type { Log, TenantPolicies } from '../ledger/ports.ts'
import { redactionFault } from '../ledger/write/redaction.ts'
import { schemaErrors } from '../signing/schema-errors.ts'
import { parseStrictJson } from '../signing/strict-json.ts'
import { SettingsError } from './settings-error.ts'
import { type WatchedFile, watchFile } from './watch-file.ts'

/** Maximum size of the whole file. */
const FILE_MAX_BYTES = 4 * 1024 * 1024
const FILE_MAX_DEPTH = 16
const FILE_MAX_KEYS = 100_000
const EVERY_OTHER = '*'

const ByTenant = z.strictObject({ tenants: z.record(z.union([z.literal(EVERY_OTHER), Tenant]), Policy) })

/** Resolves the value of `--policy`: `default`, `relay`, or the path of a file. Throws `SettingsError` with file, pointer and reason. */
export function readPolicies(named: string): TenantPolicies {
  const base = Policy.safeParse(named)
  if (base.success) return forAll(base.data)
  const value = parsedFile(named)
  const isByTenant = typeof value === 'object' && value !== null && Object.hasOwn(value, 'tenants')
  const checked = (isByTenant ? ByTenant : PolicyObject).safeParse(value)
  if (!checked.success) {
    const { pointer, message } = schemaErrors(checked.error)[0] ?? { pointer: '', message: 'is no policy' }
    throw unusable(named, pointer, message)
  }
  const policies = 'tenants' in checked.data ? Object.entries(checked.data.tenants) : [['', checked.data] as const]
  for (const [tenant, policy] of policies) mustRedact(named, tenant, policy)
  return 'tenants' in checked.data ? byTenant(checked.data.tenants) : forAll(checked.data)
}

/** Checks redaction rules at startup, so that the first run that uses an invalid one does not have to find it. */
function mustRedact(path: string, tenant: string, policy: Policy): void {
  const fault = redactionFault(asObject(policy))
  const place = tenant === '' ? '' : `/tenants/${tenant}`
  if (fault !== undefined) throw unusable(path, (fault.pointer ?? '').replace('/policy', place), fault.detail)
}

/** An edit applies to runs started after it; an invalid edit changes nothing. Throws `SettingsError`. */
export function watchPolicies(path: string, log: Pick<Log, 'error'>): WatchedFile<TenantPolicies> {
  const isName = Policy.safeParse(path).success
  const value = readPolicies(path)
  if (isName) return { current: () => value, onChange: () => () => {}, [Symbol.dispose]: () => {} }
  const onError = (error: unknown): void =>
    log.error({ err: error, path }, 'the file of policies cannot be used: those of before stay in force; mend it')
  return watchFile({ path, value, read: readPolicies, onError })
}

function forAll(policy: Policy): TenantPolicies {
  const declared = asObject(policy)
  return () => declared
}

function byTenant(tenants: Readonly<Record<string, Policy>>): TenantPolicies {
  const declared = new Map(Object.entries(tenants).map(([tenant, policy]) => [tenant, asObject(policy)]))
  return (tenant) => declared.get(tenant) ?? declared.get(EVERY_OTHER)
}

function asObject(policy: Policy): PolicyObject {
  return typeof policy === 'string' ? { base: policy } : policy
}

function parsedFile(path: string): unknown {
  const limits = { maxBytes: FILE_MAX_BYTES, maxDepth: FILE_MAX_DEPTH, maxKeys: FILE_MAX_KEYS }
  const parsed = parseStrictJson(bytesOf(path), limits)
  if (parsed.ok) return parsed.value
  throw unusable(path, parsed.error.pointer, parsed.error.message)
}

function bytesOf(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    throw new SettingsError(`--policy: "${path}" is neither default nor relay nor a file that can be read${reason}`)
  }
}

function unusable(path: string, pointer: string, reason: string): SettingsError {
  const place = pointer === '' ? '' : ` at ${pointer}`
  return new SettingsError(`--policy: ${path} is no policy${place}: ${reason}`)
}
