import { escapeJson, escapeMarkdown, escapeMarkup } from '../text/escape.js';

/** A command that ended without a result. */
export interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string | undefined };
  /** Of the process. */
  readonly exitCode: number;
  readonly generatedAt: string;
  readonly toolVersion: string;
}

/** Renderers of an error instead of a result, by the option of the output. Other outputs are not written then. */
export const ERROR_RENDERERS: Readonly<Record<string, (failure: Failure) => string>> = {
  json: renderJson,
  markdown: renderMarkdown,
  junit: renderJunit,
};

function renderJson({ error, exitCode, generatedAt, toolVersion }: Failure): string {
  const content = {
    schemaVersion: 1,
    tool: { name: 'svc-migrate', version: toolVersion },
    generatedAt,
    outcome: 'error',
    exitCode,
    error: { code: error.code, message: error.message, hint: error.hint ?? null },
  };
  return `${escapeJson(JSON.stringify(content, null, 2))}\n`;
}

function renderMarkdown({ error, exitCode }: Failure): string {
  const next = error.hint === undefined ? [] : [`**Next:** ${escapeMarkdown(error.hint)}`];
  const message = `${escapeMarkdown(error.message)} (${error.code}, exit code ${exitCode})`;
  return `${['## ❌ ERROR: THERE IS NO RESULT', message, ...next].join('\n\n')}\n`;
}

function renderJunit({ error, exitCode, generatedAt }: Failure): string {
  const suite = `name="svc-migrate" package="svc-migrate" id="0" timestamp="${generatedAt.slice(0, 19)}" hostname="localhost" tests="1" failures="0" errors="1" skipped="0" time="0"`;
  const message = escapeMarkup(error.message);
  const hint = escapeMarkup(error.hint ?? '');
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `<testsuite ${suite}>`,
    `<properties><property name="outcome" value="error"/><property name="exitCode" value="${exitCode}"/></properties>`,
    '<testcase classname="svc-migrate" name="the command gave a result" time="0">',
    `<error type="${error.code}" message="${message}">${hint}</error></testcase>`,
    '<system-out/>\n<system-err/>\n</testsuite>\n</testsuites>\n',
  ].join('\n');
}
