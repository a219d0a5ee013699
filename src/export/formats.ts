/** @module All line formats by name. */
import { cloudEvents, cloudEventsBatch } from './cloudevents.ts'
import { csv } from './csv.ts'
import type { ExportFormat } from './format.ts'
import { jsonl } from './jsonl.ts'
import { ocsf } from './ocsf.ts'
import { otlp } from './otlp.ts'

export const FORMATS = {
  jsonl,
  csv,
  cloudevents: cloudEvents,
  'cloudevents-batch': cloudEventsBatch,
  ocsf,
  otlp,
} as const satisfies Record<string, ExportFormat>

export type FormatName = keyof typeof FORMATS
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[]

export function isFormatName(name: string): name is FormatName {
  return Object.hasOwn(FORMATS, name)
}
