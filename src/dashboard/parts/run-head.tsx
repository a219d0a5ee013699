/** @module The head of a run's pages: its identity, state, cost, and downloads. */
import { EXPORT, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { Principal } from '../../signing/tokens.ts'
import { count, duration, money, plural } from '../format.ts'
import {
  auditPath,
  bundlePath,
  declaredPath,
  downloadPath,
  ofLog,
  runPath,
  runsPath,
  verifyPath,
  withQuery,
} from '../paths.ts'
import { type Run, unsettledOf } from '../run-row.ts'
import { CaptureBadge, CaptureLegend } from './capture.tsx'
import { Actor, Data, Time } from './data.tsx'
import { Fact } from './fact.tsx'
import { StatusBadge } from './status-badge.tsx'

export interface RunHeadProps {
  readonly run: Run
  readonly caller: Principal
  readonly csrf: string
}

export function RunHead({ run, caller, csrf }: RunHeadProps) {
  const { runId, name, status, compensation, seal, tags } = run
  const { inDoubt, overdue } = unsettledOf(run)
  const standing = {
    status,
    compensation,
    seal,
    inDoubtCalls: inDoubt.length,
    overdue: overdue.length > 0,
    stuck: run.stuck,
  }
  return (
    <div class="run-head">
      <div class="page-head">
        <div>
          <p class="crumbs">
            <a href={runsPath(run)}>Runs</a>
          </p>
          <h1>
            <a href={runPath(run)}>
              <Data text={runId} />
            </a>{' '}
            <StatusBadge {...standing} />
            <CaptureBadge run={run} />
          </h1>
          {name !== runId && (
            <p class="muted">
              <Data text={name} />
            </p>
          )}
          {tags.length > 0 && (
            <ul class="tags" aria-label="Tags">
              {tags.map((tag) => (
                <li>
                  <Data text={tag} />
                </li>
              ))}
            </ul>
          )}
        </div>
        {run.asOf === undefined && <Deeds runId={runId} caller={caller} csrf={csrf} />}
      </div>
      <Facts run={run} />
      <CaptureLegend runs={[run]} />
      <Children run={run} />
    </div>
  )
}

function Deeds({ runId, caller, csrf }: { runId: string; caller: Principal; csrf: string }) {
  return (
    <div class="deeds">
      <form method="post" action={verifyPath(runId)}>
        <input type="hidden" name="csrf" value={csrf} />
        <button type="submit" class="button">
          Verify this run now
        </button>
      </form>
      {mayOpen(READ_TENANT, caller) && (
        <a class="button" href={withQuery(auditPath('verifications'), { run: runId })}>
          Earlier verifications
        </a>
      )}
      {mayOpen(EXPORT, caller) && (
        <a class="button" href={bundlePath(runId)} download>
          Evidence bundle
        </a>
      )}
      {mayOpen(EXPORT, caller, runId) && (
        <a class="button" href={downloadPath(`runs/${encodeURIComponent(runId)}/export`)} download>
          Export (JSONL)
        </a>
      )}
    </div>
  )
}

/** Limit for a run with thousands of child runs; its events list all. */
const CHILDREN_SHOWN = 20

function Children({ run: { children, asOf } }: { readonly run: Run }) {
  if (children.length === 0) return null
  return (
    <section aria-labelledby="children-title">
      <h2 id="children-title">Runs within this one</h2>
      <ul>
        {children.slice(0, CHILDREN_SHOWN).map(({ run, tool = '', status = '' }) => (
          <li>
            <a href={runPath({ runId: run, asOf: ofLog(asOf) })}>
              <Data text={run} />
            </a>{' '}
            <Data text={tool.replace(/^cs\.run:/, '')} />
            <span class="muted"> {status}</span>
          </li>
        ))}
      </ul>
      {children.length > CHILDREN_SHOWN && <p class="muted">and {children.length - CHILDREN_SHOWN} more</p>}
    </section>
  )
}

function Facts({ run }: { readonly run: Run }) {
  const { startedAt, updatedAt, actor, principal, agents } = run
  return (
    <dl class="facts">
      <Fact label="Started by">
        <Actor actor={actor} {...(principal === undefined ? {} : { principal })} />
      </Fact>
      <Fact label="Started">
        <Time time={startedAt} />
      </Fact>
      <Fact label="Lasted">{duration(startedAt, updatedAt)}</Fact>
      <Fact label="Agents">
        {agents.length === 0 ? <span class="muted">none</span> : <Data text={agents.slice(0, 6).join(', ')} />}
        {agents.length > 6 && ` and ${agents.length - 6} more`}
      </Fact>
      {run.childOf !== undefined && (
        <Fact label="Part of">
          <a href={runPath({ runId: run.childOf.run, asOf: ofLog(run.asOf) })}>{run.childOf.run}</a>
        </Fact>
      )}
      <Fact label="Step">{run.step}</Fact>
      <Fact label="Calls">{count(run.calls)}</Fact>
      {run.declared !== undefined && (
        <Fact label="Places that move">
          <a href={declaredPath(run)}>{count(run.declared.length)} declared</a>
        </Fact>
      )}
      <BudgetFacts run={run} />
    </dl>
  )
}

/** Spent and reserved amounts and the limits, as separate facts for a list. */
export function BudgetFacts({ run: { budget } }: { readonly run: Run }) {
  const { tokens, cost, reservedTokens, reservedCost, currency, limits } = budget
  const capped = limits.tokens !== undefined || limits.cost !== undefined
  return (
    <>
      <Fact label="Spent">
        {(cost !== '0' || currency !== undefined) && `${money(cost, currency)} `}
        <span class="muted">{plural(tokens, 'token')}</span>
      </Fact>
      <Fact label="Reserved">
        {reservedTokens === 0 && reservedCost === '0' ? (
          <span class="muted">nothing</span>
        ) : (
          <>
            {money(reservedCost, currency)} <span class="muted">{plural(reservedTokens, 'token')}</span>
          </>
        )}
      </Fact>
      <Fact label="Cap">
        {limits.cost !== undefined && `${money(limits.cost, currency)} `}
        {limits.tokens !== undefined && <span class="muted">{plural(limits.tokens, 'token')}</span>}
        {!capped && <span class="muted">none</span>}
      </Fact>
    </>
  )
}
