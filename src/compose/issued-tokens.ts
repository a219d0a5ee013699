/**
 * @module Tokens issued by `countersign token` that are not recorded yet: one durable file each in the data folder, written before the token is shown and
 * removed once the ledger that serves the folder has recorded it (LOG-31). A crash in between can record a token twice, but never lose it.
 */

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EVENTS, type EventBody } from '../../schemas/events.ts'
import { parseJson } from '../../schemas/json.ts'
import type { Log } from '../ledger/ports.ts'
import { linkNewFile, makeFolder } from '../signing/durable-file.ts'

const FOLDER = 'issued-tokens'
const SUFFIX = '.json'
/** Larger than any file that the command writes. */
const FILE_MAX_BYTES = 256 * 1024
/** Maximum number of files that are recorded in one pass. */
const TAKEN_MAX = 100

export type IssuedToken = EventBody<'TokenIssued'>

/** The note is durable when this returns. False if there is no data folder, and so no ledger to record the token. */
export function noteIssuedToken(data: string, token: IssuedToken): boolean {
  if (!existsSync(data)) return false
  const folder = join(data, FOLDER)
  makeFolder(folder)
  return linkNewFile(join(folder, `${token.token}${SUFFIX}`), `${JSON.stringify(token)}\n`)
}

/** Whether the data folder has a note of this token that no ledger has recorded yet. */
export function isNotedToken(data: string, token: string): boolean {
  const folder = join(data, FOLDER)
  return existsSync(folder) && readdirSync(folder).includes(`${token}${SUFFIX}`)
}

/** Records the pending tokens; each is recorded once unless the process crashes. Throws any error of `record`: the remaining tokens stay pending. */
export async function takeIssuedTokens(
  data: string,
  record: (token: IssuedToken) => Promise<void>,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const folder = join(data, FOLDER)
  if (!existsSync(folder)) return
  const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX))
  for (const name of names.sort().slice(0, TAKEN_MAX)) {
    const path = join(folder, name)
    const token = readIssued(path)
    if (token === undefined) log.warn({ path }, 'this file is no note of an issued token, and is removed')
    else await record(token)
    rmSync(path, { force: true })
  }
}

function readIssued(path: string): IssuedToken | undefined {
  try {
    if (statSync(path).size > FILE_MAX_BYTES) return undefined
    const token = EVENTS.TokenIssued.schema.safeParse(parseJson(readFileSync(path, 'utf8')))
    return token.success ? token.data : undefined
  } catch {
    return undefined
  }
}
