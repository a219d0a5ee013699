/** @module Actions on the ledger itself: starts, stops, changed settings, rotated keys, the tokens issued for the tenant, and its archives. */
import { z } from 'zod'
import type { RetentionPassesAnswer } from '../../../schemas/answers/archives.ts'
import { declarationOf } from '../../../schemas/events.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { READ_TENANT } from '../../access/access.ts'
import { pageRoute } from '../page.ts'
import { Badge, Data, Time } from '../parts/data.tsx'
import { TakenAnswer } from '../parts/taken-answer.tsx'

/** Number of newest entries of each; the API and the command line have the others. */
const ROWS = 50

export const servicePage = pageRoute({
  path: '/service',
  access: READ_TENANT,
  query: z.object({}),
  handle: async (view) => {
    const { deps, caller } = view
    const { service, archives } = deps.ledger
    const [history, tokens, archived] = await Promise.all([
      service.history({ limit: ROWS }),
      service.tokens(caller.tenant, { limit: ROWS }),
      archives.list(caller),
    ])
    return {
      title: 'Service',
      nav: 'audit',
      body: (
        <>
          <div class="page-head">
            <h1>What was done to the ledger</h1>
          </div>
          <p class="muted">
            From the ledger's own record, newest first. A start that no end follows was cut short: the process crashed
            or was killed. Older entries: <code>countersign audit service</code>, <code>countersign audit tokens</code>.
          </p>
          <ServiceTable
            heads={['Time', 'What', 'Details']}
            title="Starts, ends, settings, keys"
            items={history.items}
            cells={({ type, ...item }) => [labelOf(textOf(type)), detailsOf(item)]}
            none="Nothing is recorded yet."
          />
          <ServiceTable
            heads={['Time', 'Subject', 'Details']}
            title="Tokens for this tenant"
            items={tokens.items}
            cells={({ subject, type: _, forTenant: __, ...item }) => [textOf(subject), detailsOf(item)]}
            none="No token of this tenant was issued by countersign token."
          />
          {archived.ok ? (
            <ServiceTable
              heads={['Time', 'File', 'Details']}
              title="Archives of this tenant"
              items={archived.value.items.slice(0, ROWS).map(({ at, ...item }) => ({ ...item, time: at }))}
              cells={({ archive, ...item }) => [`${textOf(archive)}.jsonl`, detailsOf(item)]}
              none="No run of this tenant is archived."
            />
          ) : (
            <p>Which runs are archived cannot be said: {archived.refusal.detail}</p>
          )}
          <Passes passes={deps.retention?.of(caller.tenant)} />
          <TakenAnswer
            view={view}
            question="What was done to the ledger, and the tokens of this tenant"
            answers={[
              { name: 'service', label: 'Starts, ends, settings, keys' },
              { name: 'tokens', label: 'Tokens' },
            ]}
          />
        </>
      ),
    }
  },
})

function Passes({ passes }: { readonly passes: RetentionPassesAnswer | undefined }) {
  if (passes === undefined)
    return (
      <p class="muted">
        No pass of retention is due: this process has no classes of retention, or its store is on a server.
      </p>
    )
  const { nextAt, last } = passes
  return (
    <p>
      Next pass of retention: <Time time={nextAt} />.{' '}
      {last !== undefined && (
        <>
          Last pass: <Time time={last.at} />, {last.archived} runs archived, {last.left} due runs left.{' '}
          {last.failure !== undefined && (
            <>
              <Badge kind="bad" text="ended early" /> {last.failure}
            </>
          )}
        </>
      )}
    </p>
  )
}

interface TableProps {
  readonly title: string
  readonly heads: readonly string[]
  readonly items: readonly JsonObject[]
  readonly cells: (item: JsonObject) => readonly [string, string]
  readonly none: string
}

function ServiceTable({ title, heads, items, cells, none }: TableProps) {
  return (
    <section>
      <h2>{title}</h2>
      {items.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <div class="table-scroll">
          <table class="listed">
            <thead>
              <tr>
                {heads.map((head) => (
                  <th scope="col">{head}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {items.map(({ time, event: _, seal, ...item }) => {
                const [what, details] = cells(item)
                return (
                  <tr>
                    <td>
                      <Time time={String(time)} />
                    </td>
                    <th scope="row">
                      <Data text={what} />
                      {seal === 'invalid' && <Badge kind="bad" text="seal broken" />}
                    </th>
                    <td>
                      <Data text={details} />
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

const labelOf = (type: string): string => declarationOf(type)?.label ?? type

function textOf(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

/** Members in words, without the settings, which the API returns in full. */
function detailsOf({ settings: _, ...item }: JsonObject): string {
  return Object.entries(item)
    .map(([name, value]) => `${WORDS[name] ?? name} ${textOf(value)}`)
    .join(' · ')
}

const WORDS: Readonly<Record<string, string>> = { forAgent: 'agent', issuedAt: 'issued', kid: 'key' }
