/** @module The downloads that a page offers, found in its text as a reader finds them. */
import * as assert from 'uvu/assert'
import type { UiClient } from './ui-client.ts'

const unescaped = (text: string): string => text.replaceAll('&amp;', '&')

/** The addresses of the downloads, by format. */
export function downloadsOf(html: string): Readonly<Record<'csv' | 'jsonl' | 'bundle', readonly string[]>> {
  const all = [...html.matchAll(/href="(\/ui\/download\/answers\/[^"]*)"/g)].map(([, href = '']) => unescaped(href))
  const of = (format: string) => all.filter((href) => href.includes(`format=${format}`))
  return { csv: of('csv'), jsonl: of('jsonl'), bundle: of('bundle') }
}

/** The text of a file that is downloaded, not shown. */
export async function textOf(client: UiClient, href: string): Promise<string> {
  const answer = await client.get(href)
  assert.is(answer.status, 200, `${href}: ${answer.status}`)
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment/)
  return answer.text()
}

/** The rows between the question and the trailer. */
export const rowsOf = (text: string) => text.trimEnd().split('\n').slice(1, -1)
