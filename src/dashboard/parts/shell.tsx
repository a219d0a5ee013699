/** @module The frame of every page: head, skip link, navigation, account, and scripts. */
import type { Child } from 'hono/jsx'
import { READ_ALL_APPROVALS, READ_OWN_PAYLOADS, READ_OWN_RUNS, READ_TENANT } from '../../access/access.ts'
import { mayOpen } from '../../access/check-access.ts'
import type { Principal } from '../../signing/tokens.ts'
import { plural } from '../format.ts'
import type { NavItem, Theme } from '../page.ts'
import {
  APPROVALS,
  AUDIT,
  asset,
  auditPath,
  DOUBTS,
  LOG,
  OVERVIEW,
  RUNS,
  SIGN_OUT,
  SPEND,
  SUSPECTS,
  THEME,
} from '../paths.ts'
import { visibleText } from '../visible.ts'
import { Data } from './data.tsx'

const SHEETS = ['base.css', 'parts.css', 'picture.css', 'detail.css', 'fit.css']

export interface SignedIn {
  readonly caller: Principal
  readonly csrf: string
  /** Address to return to after a change of theme. */
  readonly here: string
  /** Number of recorded broken events that the reader may see. */
  readonly broken: number
}

export interface ShellProps {
  readonly title: string
  readonly theme: Theme
  readonly version: string
  readonly nav?: NavItem | undefined
  readonly scripts?: readonly string[] | undefined
  readonly signedIn?: SignedIn | undefined
  readonly children?: Child
}

export function Shell({ title, theme, version, nav, scripts = [], signedIn, children }: ShellProps) {
  return (
    <html lang="en" data-theme={theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={theme === 'auto' ? 'light dark' : theme} />
        <title>{`${visibleText(title)} \u00b7 Countersign`}</title>
        <link rel="icon" href={asset('favicon.svg')} type="image/svg+xml" />
        {SHEETS.map((name) => (
          <link rel="stylesheet" href={asset(name)} />
        ))}
        {scripts.map((name) => (
          <script type="module" src={asset(name)}></script>
        ))}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="top">
          <a class="brand" href={OVERVIEW}>
            <Mark />
            Countersign
          </a>
          {signedIn !== undefined && <Navigation nav={nav} caller={signedIn.caller} />}
          {signedIn !== undefined && <Account theme={theme} {...signedIn} />}
        </header>
        <main id="main" tabindex={-1}>
          {signedIn !== undefined && signedIn.broken > 0 && <Alarm {...signedIn} />}
          {children}
        </main>
        <footer class="bottom">
          <p>
            Countersign {version}. Times are UTC. The record shows what was recorded, by whom and in which order; it
            does not show that an agent told the truth.
          </p>
        </footer>
      </body>
    </html>
  )
}

/** Above every page as long as broken events are recorded: they affect everything that is read here. */
function Alarm({ broken, caller }: SignedIn) {
  return (
    <div class="notice notice-bad" role="alert">
      <p>
        <strong>{broken === 1 ? 'One event does' : `${plural(broken, 'event')} do`} not verify.</strong> It is not what
        was sealed, or it is gone: what rests on it cannot be trusted.{' '}
        {mayOpen(READ_TENANT, caller) ? <a href={`${LOG}#integrity`}>Which, and since when</a> : 'Tell an auditor.'}
      </p>
    </div>
  )
}

function Mark() {
  return (
    <svg class="brand-mark" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <path d="M4 12.5 9.5 18 20 6" />
      <path d="M4 7.5 7 10.5" class="second" />
    </svg>
  )
}

interface NavProps {
  readonly nav: NavItem | undefined
  readonly caller: Principal
}

/** Only pages that the token can open. A token of one run can open only that run. */
function Navigation({ nav, caller }: NavProps) {
  const auditor = mayOpen(READ_TENANT, caller)
  const items: readonly (readonly [NavItem, string, string, boolean])[] = [
    ['overview', 'Overview', OVERVIEW, auditor],
    ['runs', 'Runs', RUNS, mayOpen(READ_OWN_RUNS, caller)],
    ['doubts', 'In doubt', DOUBTS, mayOpen(READ_OWN_PAYLOADS, caller) && caller.run === undefined],
    ['approvals', 'Approvals', APPROVALS, mayOpen(READ_ALL_APPROVALS, caller)],
    ['suspects', 'Suspects', SUSPECTS, mayOpen(READ_ALL_APPROVALS, caller)],
    ['refused', 'Refused', auditPath('rejections'), auditor],
    ['spend', 'Spend', SPEND, auditor],
    ['log', 'Log', LOG, auditor],
    ['audit', 'Audit', AUDIT, auditor],
  ]
  return (
    <nav aria-label="Main">
      {items
        .filter(([, , , shown]) => shown)
        .map(([id, label, href]) => (
          <a href={href} {...(nav === id ? { 'aria-current': 'page' } : {})}>
            {label}
          </a>
        ))}
    </nav>
  )
}

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }

function Account({ caller, csrf, here, theme }: SignedIn & { readonly theme: Theme }) {
  const next = NEXT_THEME[theme]
  return (
    <div class="account">
      <span class="who" title={[...caller.scopes].map(visibleText).join(' ')}>
        <Data text={caller.subject} />
        <span class="muted"> in </span>
        <Data text={caller.tenant} />
      </span>
      <form method="post" action={THEME}>
        <input type="hidden" name="csrf" value={csrf} />
        <input type="hidden" name="next" value={here} />
        <button type="submit" name="theme" value={next} class="quiet" title={`Colours: ${theme}. Switch to ${next}.`}>
          Theme: {theme}
          <span class="visually-hidden">; switch to {next}</span>
        </button>
      </form>
      <form method="post" action={SIGN_OUT}>
        <input type="hidden" name="csrf" value={csrf} />
        <button type="submit" class="quiet">
          Sign out
        </button>
      </form>
    </div>
  )
}
