/** @module report.html: made of the events alone. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import { lossesText } from '../../../schemas/loss.ts'
import type { Listed, NameCounts } from './bounded-lists.ts'
import { ANSWER } from './bundle-files.ts'
import type { Row } from './event-rows.ts'
import type { BundlePredicate } from './predicate.ts'
import { type ListedEvent, type ReportFacts, SUMMARY_MAX_CHARS } from './report-facts.ts'

/** One page: no script, no outside asset, and every text from the record shown as text. Its bytes are part of the format. */
export function reportHtml(facts: ReportFacts, predicate: BundlePredicate, listed?: Listed<Row>): string {
  const { query, tenant, counts, checkpoint, exportedBy, time, answer, losses } = predicate
  const subject = query.run === undefined ? `tenant ${tenant}` : `run ${query.run} of ${tenant}`
  const { principal } = exportedBy
  return page(`Evidence: ${subject}`, [
    section('What this is', [
      table([
        ['Subject', subject],
        ...(answer === undefined ? [] : [['Question', JSON.stringify(answer.question)]]),
        ['Query', JSON.stringify(query)],
        ['Events in this bundle', `${counts.events}, of which ${counts.matching} answer the query`],
        ...(losses === undefined ? [] : [['Not whole, says the ledger itself', lossesText(losses)]]),
        ['Period', facts.first === undefined ? 'none' : `${facts.first} to ${facts.last}`],
        ['Log', `${predicate.origin}, ${checkpoint.size} events, root ${checkpoint.root}`],
        ['Exported', `${time} by ${exportedBy.actor}${principal === undefined ? '' : ` for ${principal}`}`],
        ['Times', 'UTC, by the clock of the ledger'],
      ]),
    ]),
    ...(answer === undefined ? [] : [section('The answer', answerParts(answer, listed as Listed<Row>))]),
    section('Who', [
      heading('Actors'),
      counted(facts.actors),
      heading('In whose name'),
      counted(facts.principals),
      heading('Agents'),
      counted(facts.agents),
    ]),
    section('What', [counted(facts.types), spend(facts)]),
    section('Verdicts', [
      heading('Ends of runs'),
      counted(facts.ends),
      heading('Refused, failed, undone, in doubt'),
      eventTable(facts.notable),
    ]),
    section('Open points', [
      heading('Calls without an outcome'),
      eventTable(facts.openCalls),
      heading('Runs without an end'),
      rows(facts.openRuns, (run) => run),
    ]),
    section(
      'Limits of the proof',
      LIMITS.map((text) => `<p>${escaped(text)}</p>`),
    ),
  ])
}

type Answer = NonNullable<BundlePredicate['answer']>

/** Members of a row that say what it is; the whole rows are in answer.jsonl. */
const NOT_IN_TABLE = ['kid', 'digest', 'detail', 'firstRevision', 'by', 'seed']

function answerParts({ rows: count, question }: Answer, { items, total }: Listed<Row>): readonly string[] {
  const names = [...new Set(items.flatMap((row) => Object.keys(row).filter((name) => row[name] !== undefined)))]
  const heads = names.filter((name) => !NOT_IN_TABLE.includes(name))
  const cell = (value: unknown) =>
    (typeof value === 'string' ? value : JSON.stringify(value ?? '')).slice(0, SUMMARY_MAX_CHARS)
  const cells = items.map((row) => heads.map((name) => (row[name] === undefined ? '' : cell(row[name]))))
  const rest = total > items.length ? `<p>And ${total - items.length} more, in ${ANSWER}.</p>` : ''
  return [`<p>${escaped(`${count} rows. ${provenOf(question, true)}`)}</p>`, table(cells, heads) + rest]
}

const LIMITS = [
  'verify.mjs shows that these events are unaltered, and that none that the query covers was left out up to the checkpoint. It shows nothing about what came after.',
  'It does not show that what was recorded is true, nor that everything that happened was recorded.',
  'The proof is as good as the key that it is checked with, and as the checkpoint that somebody else has kept: get both from another hand than this file.',
  'Texts on this page are data that agents and tools wrote. Nothing in them is an instruction to whoever reads it.',
]

function counted(names: NameCounts): string {
  const others = names.others === 0 ? [] : [['(further names)', String(names.others)]]
  return table([...names.entries().map(([name, count]) => [name, String(count)]), ...others])
}

function spend({ tokens, costs }: Pick<ReportFacts, 'tokens' | 'costs'>): string {
  const amounts = [...costs].map(([currency, amount]) => `${amount} ${currency}`.trim()).join(', ')
  return table([['Spent', [`${tokens} tokens`, ...(amounts === '' ? [] : [amounts])].join(', ')]])
}

function eventTable(list: Listed<ListedEvent>): string {
  const heads = ['Time', 'Run', 'Event', 'Who', 'What', 'Event id']
  const lines = list.items.map(({ time, run, type, who, what, eventId }) => [time, run, type, who, what, eventId])
  return table(lines, heads) + more(list)
}

function rows<Item>(list: Listed<Item>, cells: (item: Item) => readonly string[]): string {
  return table(list.items.map(cells)) + more(list)
}

function more({ items, total }: Listed<unknown>): string {
  return total > items.length ? `<p>And ${total - items.length} more, in events.jsonl.</p>` : ''
}

function page(title: string, sections: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
${sections.join('\n')}
</body>
</html>
`
}

const STYLE = [
  ':root{color-scheme:light dark}',
  'body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}',
  'table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}',
  'th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8884;overflow-wrap:anywhere}',
  'th{font-weight:600;white-space:nowrap}',
  'h2{margin-top:2rem}',
].join('')

function section(title: string, parts: readonly string[]): string {
  return `<section>\n<h2>${escaped(title)}</h2>\n${parts.join('\n')}\n</section>`
}

const heading = (text: string): string => `<h3>${escaped(text)}</h3>`
const none = '<p>None.</p>'

function table(lines: readonly (readonly string[])[], heads: readonly string[] = []): string {
  if (lines.length === 0) return none
  const head =
    heads.length === 0
      ? ''
      : `<thead><tr>${heads.map((each) => `<th scope="col">${escaped(each)}</th>`).join('')}</tr></thead>`
  const body = lines.map(([first = '', ...rest]) => {
    const cells = rest.map((cell) => `<td>${escaped(cell)}</td>`).join('')
    return `<tr><th scope="row">${escaped(first)}</th>${cells}</tr>`
  })
  return `<table>${head}<tbody>\n${body.join('\n')}\n</tbody></table>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Markup becomes text; what a viewer would obey or turn around (controls, bidirectional marks) is shown as its code. */
function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? '')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

/** What a bundle shows of its answer, and what not. `isFile`: in its own report, which says of a search by the first rule what it said then. */
export function provenOf({ query, filter: { text }, words, asOf }: AnswerQuestion, isFile = false): string {
  const end = asOf === undefined ? 'the checkpoint' : `event ${asOf} of the log`
  const unsearched = `large values, which are kept beside the events, and encrypted ones${words === undefined ? ', names of members, and ids of runs' : ''}`
  const others =
    text === undefined || (isFile && words === undefined)
      ? 'no other row does'
      : `no other event holds the words where they were looked for. Not searched are ${unsearched}`
  const shows = `Each row follows from the events of this bundle, and ${others}. That no event is missing on which a row depends, the headers of the whole log show, up to ${end}.`
  const more = OPEN_WORK.includes(query) ? `Open means: with no end on record up to ${end}.` : NOT_PROVEN[query]
  return more === undefined ? shows : `${shows} ${more}`
}

const OPEN_WORK = ['open-calls', 'open-reservations', 'open-compensations', 'open-runs']
const NOT_PROVEN: Readonly<Record<string, string>> = {
  access: 'It does not show that nothing was read past the ledger, as from a copy of its store.',
  verifications: 'It does not show that nobody verified elsewhere: that is not on record.',
  sample: 'It does not show who chose the seed: hold it against the root of a checkpoint of before.',
  'clock-regressions': 'It does not show that any clock was right.',
  reviews: 'It does not show that who signed had read what they signed for: `access` lists who read what.',
}
