/**
 * @module Adds places that may change (`moves`) to a policy file: the new version is written completely to a temporary file, which then replaces the old one.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import type { Move } from '../../schemas/place-policy.ts'
import { readPolicies } from '../settings/policy-file.ts'
import { usageFailure } from './failure.ts'

/**
 * Places that the file already declares stay unchanged. `tenant` selects the policy if the file has one per tenant. Throws `CliFailure` and `SettingsError`.
 */
export function addMoves(
  path: string,
  moves: readonly Move[],
  tenant: string | undefined,
): { readonly added: number; readonly kept: number } {
  const file = existsSync(path) ? fileAt(path) : {}
  const policy = policyIn(file, path, tenant)
  const known = Array.isArray(policy.moves) ? (policy.moves as readonly Json[]) : []
  const paths = new Set(known.map((each) => (isJsonObject(each) ? each.path : undefined)))
  const added = moves.filter((move) => !paths.has(move.path))
  const next = { ...policy, moves: [...known, ...(added as unknown as Json[])] }
  const whole = policy === file ? next : { ...file, tenants: { ...(file.tenants as JsonObject), [tenant ?? '']: next } }
  const part = `${path}.part`
  writeFileSync(part, `${JSON.stringify(whole, null, 2)}\n`)
  // An unusable version must never replace the file.
  readPolicies(part)
  renameSync(part, path)
  return { added: added.length, kept: moves.length - added.length }
}

/** The parsed file, after it was checked to be usable. */
function fileAt(path: string): JsonObject {
  readPolicies(path)
  return parseJson(readFileSync(path, 'utf8')) as JsonObject
}

function policyIn(file: JsonObject, path: string, tenant: string | undefined): JsonObject {
  if (!isJsonObject(file.tenants ?? null)) return file
  if (tenant === undefined) throw usageFailure(`${path} has policies by tenant: say which one, as --for TENANT`)
  const policy = (file.tenants as JsonObject)[tenant] ?? {}
  return isJsonObject(policy) ? policy : { base: policy }
}
