/** @module `countersign checkpoint --timestamp FOLDER`: writes the last recorded time-stamped checkpoint as files that openssl can check. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EVENTS, type EventBody } from '../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import { ledgerStream } from '../../schemas/names.ts'
import type { StoreReader } from '../store/event-store.ts'
import { CliFailure, EXIT } from './failure.ts'
import { jsonLine, oneLine } from './shown.ts'

export interface TimestampPlace {
  readonly tenant: string
  readonly folder: string
  readonly json: boolean
}

export type Timestamp = Pick<EventBody<'CheckpointTimestamped'>, 'text' | 'reply' | 'size' | 'time' | 'authority'>

export function writeTimestamp(stamp: Timestamp, { tenant, folder, json }: TimestampPlace): void {
  const [data, reply] = [join(folder, 'timestamp.txt'), join(folder, 'timestamp.tsr')]
  mkdirSync(folder, { recursive: true })
  writeFileSync(data, stamp.text)
  writeFileSync(reply, Buffer.from(stamp.reply, 'base64'))
  const { size, time, authority } = stamp
  const check = `openssl ts -verify -data ${data} -in ${reply} -CAfile AUTHORITY.pem`
  const summary = { tenant, size, time, authority, data, reply, check }
  const said = oneLine(`${size} events existed by ${time}, says ${authority}`)
  process.stdout.write(json ? jsonLine(summary) : `${said}\nto be checked by: ${check}\n`)
}

/** Throws `CliFailure` if there is none. */
export async function lastTimestamp(reader: StoreReader, tenant: string): Promise<Timestamp> {
  for await (const page of reader.readStream(ledgerStream(tenant), { direction: 'backwards' })) {
    for (const { data } of page) {
      const body = EVENTS.CheckpointTimestamped.schema.safeParse(parseJsonOrUndefined(data))
      if (body.success) return body.data
    }
  }
  throw new CliFailure(`no checkpoint of ${tenant} was time-stamped yet: see serve --timestamp-url`, EXIT.unproven)
}
