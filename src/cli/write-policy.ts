/** @module A file of policies with more places that move in it: written whole, beside the old one, and put in its place. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../schemas/json.ts'
import type { Move } from '../../schemas/place-policy.ts'
import { readPolicies } from '../settings/policy-file.ts'
import { usageFailure } from './failure.ts'

/** Places that the file declares keep their word. `tenant`: where the file has policies by tenant, the one that it is for. Throws `CliFailure` and `SettingsError`. */
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
  // What could not be used never gets the name of the file.
  readPolicies(part)
  renameSync(part, path)
  return { added: added.length, kept: moves.length - added.length }
}

/** As it is written, once it is known to be usable. */
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
