/**
 * @module Tokens that `countersign token` made, on their way to the record: one file each in the data folder, whole and durable before the
 * token is shown, until the ledger that serves the folder has put it on record (LOG-31). A crash in between records one twice, never not at all.
 */

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EVENTS, type EventBody } from '../../schemas/events.ts'
import { parseJson } from '../../schemas/json.ts'
import type { Log } from '../ledger/ports.ts'
import { linkNewFile, makeFolder } from '../signing/durable-file.ts'

const FOLDER = 'issued-tokens'
const SUFFIX = '.json'
/** Above any that the command writes. */
const FILE_MAX_BYTES = 256 * 1024
/** Of one look. */
const TAKEN_MAX = 100

export type IssuedToken = EventBody<'TokenIssued'>

/** Durable when it returns. False where there is no data folder, and so no ledger that would take it up. */
export function noteIssuedToken(data: string, token: IssuedToken): boolean {
  if (!existsSync(data)) return false
  const folder = join(data, FOLDER)
  makeFolder(folder)
  return linkNewFile(join(folder, `${token.token}${SUFFIX}`), `${JSON.stringify(token)}\n`)
}

/** Puts those that wait on record, each once as far as it is up to this process. Throws what `record` throws: the rest waits on. */
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
