/** @module The diff as a table: before on the left, after on the right, findings directly below the line that they are about. */
import type { Finding } from '../../../schemas/finding.ts'
import { plural } from '../format.ts'
import { Data } from '../parts/data.tsx'
import { changedPart } from './changed-part.ts'
import type { ContextDiff, DiffLine } from './context-diff.ts'

export interface DiffTableProps {
  readonly diff: ContextDiff
  readonly beforeTitle: string
  readonly afterTitle: string
}

export function DiffTable({ diff, beforeTitle, afterTitle }: DiffTableProps) {
  const { lines, omitted } = diff
  return (
    <>
      <div class="table-scroll">
        <table class="diff">
          <caption class="visually-hidden">
            What changed between {beforeTitle} and {afterTitle}
          </caption>
          <thead>
            <tr>
              <th scope="col" class="sign">
                <span class="visually-hidden">Change</span>
              </th>
              <th scope="col">{beforeTitle}</th>
              <th scope="col">{afterTitle}</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <Line line={line} />
            ))}
          </tbody>
        </table>
      </div>
      {omitted > 0 && (
        <p class="notice">{plural(omitted, 'more line')} are not shown; the bodies of the events hold them all.</p>
      )}
    </>
  )
}

const SIGNS: Readonly<Record<DiffLine['kind'], readonly [string, string]>> = {
  same: ['', 'unchanged'],
  inside: ['', 'changed inside'],
  added: ['+', 'added'],
  removed: ['\u2212', 'removed'],
  changed: ['\u2260', 'changed'],
  folded: ['', ''],
}

function Line({ line }: { readonly line: DiffLine }) {
  if (line.kind === 'folded') return <Folded line={line} />
  const [sign, meaning] = SIGNS[line.kind]
  const left = line.kind !== 'added'
  const right = line.kind !== 'removed'
  return (
    <>
      <tr class={`d-${line.kind}`}>
        <td class="sign">
          <span aria-hidden="true">{sign}</span>
          <span class="visually-hidden">{meaning}</span>
        </td>
        <td class={left ? 'side before' : 'side none'}>
          {left && <Side line={line} text={line.before} other={line.after} />}
        </td>
        <td class={right ? 'side after' : 'side none'}>
          {right && <Side line={line} text={line.after} other={line.before} />}
        </td>
      </tr>
      {line.reason !== undefined && (
        <tr class="d-note d-reason">
          <td class="sign"></td>
          <td colspan={2}>
            <span class="badge badge-superseded">superseded</span> <Data text={line.reason} />
          </td>
        </tr>
      )}
      {line.findings.map((finding) => (
        <FindingRow finding={finding} />
      ))}
    </>
  )
}

function Folded({ line }: { readonly line: DiffLine }) {
  return (
    <tr class="d-folded">
      <td class="sign"></td>
      <td colspan={2} class={`indent-${Math.min(line.depth, 8)}`}>
        {plural(line.folded ?? 0, 'unchanged value')}
      </td>
    </tr>
  )
}

interface SideProps {
  readonly line: DiffLine
  readonly text: string | undefined
  readonly other: string | undefined
}

function Side({ line: { label, depth, kind }, text, other }: SideProps) {
  return (
    <div class={`indent-${Math.min(depth, 8)}`}>
      <span class="key">
        <Data text={label} />
      </span>
      {text !== undefined && (
        <>
          {label.startsWith('-') ? ' ' : ': '}
          {kind === 'changed' && other !== undefined ? <Marked text={text} other={other} /> : <Data text={text} />}
        </>
      )}
    </div>
  )
}

function Marked({ text, other }: { readonly text: string; readonly other: string }) {
  const [start, changed, end] = changedPart(text, other)
  return (
    <>
      <Data text={start} />
      {changed !== '' && (
        <mark>
          <Data text={changed} />
        </mark>
      )}
      <Data text={end} />
    </>
  )
}

function FindingRow({ finding: { rule, severity, message } }: { readonly finding: Finding }) {
  return (
    <tr class={`d-note d-finding-${severity}`}>
      <td class="sign" aria-hidden="true">
        !
      </td>
      <td colspan={2}>
        <span class={`badge badge-${severity === 'error' ? 'bad' : 'warn'}`}>{rule}</span> <Data text={message} />
      </td>
    </tr>
  )
}
