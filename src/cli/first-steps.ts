/** @module The commands that `serve` prints for new users, ready to paste: a run, an accepted handoff, a refused one, a verification. */
import { SETTINGS } from '../settings/settings.ts'

export interface FirstStepsOptions {
  readonly url: string
  /** The data folder as given in the settings. */
  readonly data: string
}

export function firstSteps({ url, data }: FirstStepsOptions): readonly string[] {
  const folder = data === SETTINGS.data.fallback ? '' : ` --data ${shellQuoted(data)}`
  return [
    `TOKEN=$(npx countersign token --scope "runs:write runs:read audit:read"${folder})   # good for one hour`,
    `post() { curl -s ${url}/v1/$1 -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "$2"; echo; }`,
    `post runs '{"id":"hello","name":"hello"}'`,
    `post runs/hello/envelopes '{"agent":"researcher","payload":{"entities":["Apple"],"revenue":"2024"}}'   # accepted`,
    `post runs/hello/envelopes '{"agent":"writer","payload":{"summary":"growth"}}'   # refused: the entities are gone`,
    `npx countersign verify${folder}`,
    `echo "$TOKEN"   # signs in to the dashboard: ${url}/ui`,
  ]
}

function shellQuoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
