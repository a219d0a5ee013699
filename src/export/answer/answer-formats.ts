/** @module File formats of an answer: JSONL, with each row as in the API, or CSV for people, with the whole row in the last cell. */
import { type AnswerQuestion, type AnswerTrailer, answerHead } from '../../../schemas/answer-trailer.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { csvRow } from '../csv.ts'

/** First cell of the last row of a CSV answer, whose last cell is the trailer. */
export const CSV_ANSWER_TRAILER = 'AnswerTrailer'

export interface AnswerWriter {
  /** Text before the first row. */
  readonly head: string
  readonly row: (item: JsonObject) => string
  readonly trailer: (trailer: AnswerTrailer) => string
}

export interface AnswerFormat {
  readonly contentType: string
  readonly extension: string
  /** `columns`: members of a row that are shown as columns. */
  readonly open: (question: AnswerQuestion, columns: readonly string[]) => AnswerWriter
}

export const ANSWER_FORMATS = {
  jsonl: {
    contentType: 'application/x-ndjson',
    extension: 'jsonl',
    open: (question) => ({
      head: answerHead(question),
      row: (item) => `${JSON.stringify(item)}\n`,
      trailer: (trailer) => `${JSON.stringify({ trailer })}\n`,
    }),
  },
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    extension: 'csv',
    open: ({ query }, columns) => ({
      head: csvRow(['answer', ...columns, 'row']),
      row: (item) => csvRow([query, ...columns.map((name) => cellOf(item[name])), JSON.stringify(item)]),
      trailer: (trailer) => csvRow([CSV_ANSWER_TRAILER, ...columns.map(() => ''), JSON.stringify(trailer)]),
    }),
  },
} as const satisfies Record<string, AnswerFormat>

export type AnswerFormatName = keyof typeof ANSWER_FORMATS
export const ANSWER_FORMAT_NAMES = Object.keys(ANSWER_FORMATS) as readonly AnswerFormatName[]

function cellOf(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
