/** @module Formats a verdict of `validate` for people: one line for the verdict, then each finding with the change that would permit it. */

import type { Finding } from '../../schemas/finding.ts'
import { parseJson } from '../../schemas/json.ts'
import { oneLine } from './shown.ts'

interface Printed {
  readonly verdict: string
  readonly confidence?: number
  readonly findings: readonly Finding[]
}

/** `line` is a line that `validateLine` produced. */
export function explainVerdict(line: string): string {
  const { verdict, confidence, findings } = parseJson<Printed>(line)
  const found = confidence === undefined ? 'nothing protected to compare' : `${Math.round(confidence * 100)} % kept`
  return [`${verdict} (${found})`, ...findings.flatMap(explainFinding)].join('\n')
}

function explainFinding({ rule, severity, path, before, after, message, supersede }: Finding): string[] {
  const change = [before === undefined ? '' : shown(before), after === undefined ? '' : `-> ${shown(after)}`]
  const lines = [`  ${severity} ${rule} ${oneLine(path)} ${change.join(' ')}`.trimEnd(), `    ${oneLine(message)}`]
  if (supersede !== undefined)
    lines.push(`    to change it: "supersedes": [{"path": ${shown(supersede.path)}, "reason": "why"}]`)
  return lines
}

function shown(value: unknown): string {
  return oneLine(JSON.stringify(value))
}
