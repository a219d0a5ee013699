/** @module A page as a response: with the shell around it and the headers that every page has. */
import { getCookie } from 'hono/cookie'
import type { DashboardContext, DashboardDeps } from './deps.ts'
import { PAGE_HEADERS } from './headers.ts'
import type { Page, Theme } from './page.ts'
import { Problem, type ProblemProps } from './parts/problem.tsx'
import { Shell, type SignedIn } from './parts/shell.tsx'

export const THEME_COOKIE = 'countersign_theme'
const DOCTYPE = '<!doctype html>'

export interface Frame {
  readonly c: DashboardContext
  readonly deps: DashboardDeps
  readonly signedIn?: SignedIn | undefined
}

export async function pageResponse({ c, deps, signedIn }: Frame, page: Page): Promise<Response> {
  const { title, body, nav, scripts, status = 200 } = page
  const html = (
    <Shell title={title} theme={themeOf(c)} version={deps.version} nav={nav} scripts={scripts} signedIn={signedIn}>
      {body}
    </Shell>
  )
  return c.body(DOCTYPE + (await html.toString()), status as 200, {
    ...PAGE_HEADERS,
    'content-type': 'text/html; charset=utf-8',
  })
}

export function problemPage(frame: Frame, problem: ProblemProps): Promise<Response> {
  const { status, title } = problem
  return pageResponse(frame, { title, status, body: <Problem {...problem} /> })
}

export function themeOf(c: DashboardContext): Theme {
  const chosen = getCookie(c, THEME_COOKIE)
  return chosen === 'light' || chosen === 'dark' ? chosen : 'auto'
}

/** 303 See Other: the form was processed, and a reload requests the page without submitting the form again. */
export function seeOther(c: DashboardContext, path: string): Response {
  return c.body(null, 303, { ...PAGE_HEADERS, location: path })
}
