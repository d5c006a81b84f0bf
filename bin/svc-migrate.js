#!/usr/bin/env node
import { runGuarded } from '../dist/bundle/crash.js';

runGuarded(() => import('../dist/bundle/cli.js'));
